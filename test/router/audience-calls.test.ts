import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  audienceDestinationsHeader,
  audienceSourceHeader,
  encodeAudienceRoute,
} from '../../src/event/headers.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { CallBacklog } from '../../src/router/backlog.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { audienceTopic, incoming, TestRouter } from './fakes.ts';

/** What a sync writes, on its topic unless another is given. */
function synced(
  destinationIds: readonly string[] | undefined,
  changes: object = {},
  sourceId = 'shop',
): IncomingRecord {
  const route = {
    sourceId,
    destinationIds: destinationIds === undefined ? undefined : new Set(destinationIds),
  };
  const headers = Object.fromEntries(
    Object.entries(encodeAudienceRoute(route)).map(([name, value]) => [name, Buffer.from(value)]),
  );
  const call = { type: 'identify', messageId: 'm', userId: 'u1', traits: { vip: true } };
  return incoming(call, { topic: audienceTopic, headers, ...changes });
}

/** Topic, destination and source of each record that was written. */
function writtenBy(router: TestRouter): string[] {
  return router.written.map(({ record }) => {
    const envelope = decodeEnvelope(
      Buffer.from((record.headers?.[envelopeHeader] ?? '') as string),
    );
    return `${record.topic} ${envelope?.destinationId ?? ''} ${envelope?.sourceId ?? ''}`;
  });
}

const destinations = ['crm', 'ads', 'other'].map((id) => exampleDestination({ id }));

test("a sync's call goes by its headers: all destinations of its source, or those that it names", async () => {
  const router = new TestRouter(exampleSource(), ...destinations);
  router.take(synced(undefined));
  assert.deepEqual(
    writtenBy(router),
    ['ads', 'crm', 'other'].map((id) => `p.delivery ${id} shop`),
  );
  router.written.splice(0);
  router.take(synced(['crm', 'nobody', 'ads'], { offset: 43, partition: 4 }));
  await router.look();
  assert.deepEqual(
    writtenBy(router),
    ['ads', 'crm'].map((id) => `p.delivery ${id} shop`),
  );
});

test('a destination that is applied just before the sync is waited for', async () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(synced(['new']));
  assert.equal(router.heldCalls, 1);
  router.config.put(exampleDestination({ id: 'new' }));
  await router.look();
  assert.deepEqual(writtenBy(router), ['p.delivery new shop']);
});

test('a destination that is not connected to the source gets nothing however it is named', async () => {
  const router = new TestRouter(exampleSource(), exampleDestination({ sources: ['app'] }));
  router.take(synced(['crm']));
  await router.look();
  assert.deepEqual(router.finished, [42]);
  assert.equal(router.metrics.unwanted, 1);
});

test('on another topic the headers count for nothing, and do not come back with a redrive', () => {
  const router = new TestRouter(exampleSource(), ...destinations);
  router.take(synced(undefined, { topic: 'p.ingest' }));
  const [{ record } = assert.fail('nothing written')] = router.written;
  assert.equal(record.topic, 'p.ingest.rejected');
  assert.equal(record.headers?.['reason'], 'no-write-key');
  assert.equal(audienceSourceHeader in record.headers, false);
  assert.equal(audienceDestinationsHeader in record.headers, false);
});

test('a source that is applied just after the sync is waited for; one that never comes is rejected', async () => {
  const router = new TestRouter(exampleDestination());
  router.take(synced(undefined));
  assert.equal(router.heldCalls, 1);
  router.config.put(exampleSource());
  await router.look();
  assert.deepEqual(writtenBy(router), ['p.delivery crm shop']);
  router.written.splice(0);
  router.take(synced(['crm'], { offset: 43 }, 'gone'));
  await router.look();
  const headers = router.written[0]?.record.headers;
  assert.equal(headers?.['reason'], 'unknown-source');
  assert.equal(headers['detail'], 'There is no source "gone".');
  // What was rejected can be sent again.
  assert.equal(String(headers[audienceSourceHeader]), 'gone');
  assert.equal(String(headers[audienceDestinationsHeader]), 'crm');
});

test('a live call goes before all that a sync has written, and a sync leaves room for it', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  const users = Array.from({ length: 3_000 }, (_, i) =>
    synced(undefined, { offset: i, value: Buffer.from(identify(`u${i}`)) }),
  );
  router.take(...users);
  assert.equal(router.written.length, 1_000);
  router.take(incoming({ type: 'identify', userId: 'live', writeKey: 'wk_shop' }));
  assert.equal(String(router.written.at(-1)?.record.key), 'crm:live');
  router.acknowledge();
  assert.equal(router.written.length, 1_000);
  for (let i = 0; i < 3; i += 1) router.acknowledge();
  assert.equal(router.finished.length, 3_001);
});

test('calls of a sync that wait for room are released when their partition goes', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  const offsets = Array.from({ length: 1_200 }, (_, i) => i);
  const records = offsets.map((offset) =>
    synced(undefined, { offset, value: Buffer.from(identify(`u${offset}`)) }),
  );
  router.take(...records);
  router.drop(synced(undefined));
  assert.deepEqual(router.released, offsets.slice(1_000));
  router.acknowledge();
  assert.deepEqual([router.finished.length, router.written.length], [1_000, 0]);
});

function identify(userId: string): string {
  return JSON.stringify({ type: 'identify', messageId: userId, userId });
}

test('a router that is never done with live calls takes one call of a sync in sixteen', () => {
  const backlog = new CallBacklog<string>((item) => item === 'sync');
  for (let i = 0; i < 320; i += 1) backlog.push('live');
  for (let i = 0; i < 10; i += 1) backlog.push('sync');
  const taken = Array.from({ length: 160 }, () => backlog.shift(false));
  assert.equal(taken.filter((item) => item === 'sync').length, 10);
  assert.equal(backlog.size, 170);
});

test('without live calls a backlog gives what can wait only to whoever takes it', () => {
  const backlog = new CallBacklog<string>((item) => item === 'sync');
  backlog.push('sync');
  assert.equal(backlog.isUrgent, false);
  assert.equal(backlog.shift(false), undefined);
  assert.equal(backlog.shift(true), 'sync');
  backlog.push('sync');
  backlog.putBack(['live']);
  assert.deepEqual(
    backlog.takeOut((item) => item === 'sync'),
    ['sync'],
  );
  assert.equal(backlog.size, 1);
  assert.equal(backlog.isUrgent, true);
});
