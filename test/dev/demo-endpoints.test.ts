import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { demoDestinations, startDemoEndpoints } from '../../src/dev/demo-endpoints.ts';
import { createLedger } from '../../src/dev/ledger.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { parseResource } from '../../src/resources/schema/schema.ts';

test('the endpoint for batches answers for each event, and each stands in the accounts by its own answer', async (t) => {
  const ledger = createLedger(demoDestinations);
  const endpoints = await startDemoEndpoints(ledger);
  t.after(() => endpoints.close());
  const parsed = endpoints.resources.map((resource) => parseResource(resource));
  assert.deepEqual(
    parsed.filter((each) => 'issues' in each),
    [],
  );
  const { webhooks, sharedSecret = '' } = endpoints.resources.find(
    (each) => 'id' in each && each.id === 'batched',
  ) as Destination;
  const calls = [
    { type: 'identify', messageId: 'identify-7' },
    { type: 'track', messageId: 'order-1', event: 'Order Completed' },
    { type: 'track', messageId: 'order-2', event: 'Order Cancelled' },
  ];
  for (const { messageId } of calls) ledger.produced(messageId, '7');
  const body = JSON.stringify(calls);
  const answer = await fetch(webhooks[0]?.url ?? '', {
    method: 'POST',
    headers: {
      'content-encoding': 'gzip',
      'x-signature': createHmac('sha1', sharedSecret).update(body).digest('hex'),
    },
    body: gzipSync(body),
  });
  assert.equal(answer.status, 207);
  const refused = { status: 422, error: 'the order is cancelled' };
  assert.deepEqual(await answer.json(), { results: [{ status: 200 }, { status: 200 }, refused] });
  ledger.deadLettered('batched', 'order-2', 'http-422');
  const account = ledger.accounts().find(({ destination }) => destination === 'batched');
  assert.deepEqual(account, {
    destination: 'batched',
    produced: 3,
    requests: 1,
    delivered: 2,
    deadLetters: { 'http-422': 1 },
    missing: 0,
    extraArrivals: 1,
    badSignatures: 0,
    outOfOrder: 0,
  });
});
