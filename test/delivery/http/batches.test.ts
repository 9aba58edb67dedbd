import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { Outcome } from '../../../src/delivery/outcome.ts';
import { eventually } from '../../harness/eventually.ts';
import { RealEngine } from '../real-engine.ts';
import { createSender, listen, post } from './sender-scene.ts';

const secret = 'teehee';

interface Request {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The URL of a server on this machine. */
async function serve(
  answer: (request: Request, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      answer({ headers: request.headers, body: Buffer.concat(chunks).toString() }, response);
    });
  });
  return `http://127.0.0.1:${await listen(server)}/`;
}

test('a receiver that refuses one event in a thousand gets all others once', async () => {
  const events = 5_000;
  const isRefused = (n: number): boolean => n % 1_000 === 500;
  const taken: number[] = [];
  let requests = 0;
  const url = await serve(({ headers, body }, response) => {
    requests += 1;
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['x-signature'], createHmac('sha1', secret).update(body).digest('hex'));
    const batch = JSON.parse(body) as { n: number }[];
    const isBad = batch.some(({ n }) => isRefused(n));
    if (!isBad) for (const { n } of batch) taken.push(n);
    response.writeHead(isBad ? 422 : 200).end();
  });
  const real = new RealEngine(createSender({ timeoutMs: 5_000 }));
  real.configure({
    id: 'crm',
    webhooks: [{ url, headers: {} }],
    sharedSecret: secret,
    batch: { events: 100, wait: '1s', bytes: '256KB' },
  });
  for (let n = 0; n < events; n++) real.publish('crm', `{ "n": ${n} }`);
  await eventually(() => {
    assert.equal(real.finished.length, events);
  });
  real.stop();
  const wanted = Array.from({ length: events }, (_, n) => n).filter((n) => !isRefused(n));
  assert.deepEqual(
    taken.sort((a, b) => a - b),
    wanted,
  );
  assert.equal(real.written.length, 5);
  assert.ok(requests <= 50 + 5 * 2 * Math.log2(100), `${requests} requests`);
});

async function answered(status: number, body: string, breaksOff = false): Promise<Outcome> {
  const url = await serve((_request, response) => {
    const length = body.length + (breaksOff ? 1 : 0);
    response.writeHead(status, { 'content-length': length });
    if (breaksOff) response.write(body, () => response.destroy());
    else response.end(body);
  });
  return (await post(url, { batchSize: 2 })).outcome;
}

test('an answer has a result for each event of a batch', async () => {
  const long = 'x'.repeat(200_000);
  const results = JSON.stringify({
    results: [{ status: 200 }, { status: 422, error: long }],
  });
  for (const status of [200, 207]) {
    const outcome = await answered(status, results);
    const each = outcome.kind === 'delivered' ? outcome.each : undefined;
    assert.deepEqual(
      each?.map((its) => [its.kind, its.status]),
      [
        ['delivered', 200],
        ['permanent', 422],
      ],
    );
    const [, refused] = each;
    const kept = refused?.kind === 'permanent' ? refused.answer : undefined;
    assert.deepEqual([kept?.body?.length, kept?.isCut], [2_048, true]);
  }
});

test('a body that has no result for each event counts for none', async () => {
  const bodies = {
    '': undefined,
    taken: undefined,
    '{"results":5}': undefined,
    '{"results":[{"status":500}]}': 'its results count for none: 1 for 2 events',
    '{"results":[{"status":500},{"status":"no"}]}':
      'its results count for none: some without a status',
    [`{"results":[{"status":500},{"status":500,"error":"${'x'.repeat(1_100_000)}"}]}`]: undefined,
  };
  for (const [body, detail] of Object.entries(bodies)) {
    const outcome = await answered(200, body);
    assert.deepEqual(outcome, { kind: 'delivered', status: 200, ...(detail && { detail }) });
  }
});

test('a 207 that breaks off is tried again, and another 2xx has taken all', async () => {
  assert.equal((await answered(207, '{"results":[', true)).kind, 'retryable');
  assert.equal((await answered(200, '{"results":[', true)).kind, 'delivered');
});
