import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test as nodeTest, type TestContext } from 'node:test';
import {
  Analytics,
  AnalyticsError,
  CallsLostError,
  type AcceptedCall,
  type AnalyticsOptions,
} from '../../src/client/index.ts';
import { library } from '../../src/client/transport.ts';
import { maxBatchCalls, maxBodyBytes } from '../../src/event/limits.ts';
import packageJson from '../../src/client/package.json' with { type: 'json' };
import { eventually } from '../harness/eventually.ts';
import { ok, startFakeGateway, type FakeGateway } from './fake-gateway.ts';

let gateway: FakeGateway;

/** With a gateway of its own. */
function test(title: string, run: (t: TestContext) => Promise<void>, timeout?: number): void {
  nodeTest(title, { timeout: timeout ?? Infinity }, async (t) => {
    gateway = await startFakeGateway();
    t.after(() => gateway.close());
    await run(t);
  });
}

function connect(options: AnalyticsOptions = {}): Analytics {
  return new Analytics('wk_shop', { endpoint: gateway.url, ...options });
}

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof AnalyticsError);
    return error.code;
  }
  return 'none';
}

test('a call of each type arrives with its message id, in one batch', async () => {
  const analytics = connect();
  const ids = [
    analytics.identify({ userId: 'u', traits: { plan: 'pro' } }),
    analytics.track({ userId: 'u', event: 'Bought', properties: { total: 39.95 } }),
    analytics.page({ userId: 'u', name: 'Pricing', traits: { path: '/pricing' } }),
    analytics.screen({ anonymousId: 'a', name: 'Home' }),
    analytics.group({ userId: 'u', groupId: 'g' }),
    analytics.alias({ userId: 'u', previousId: 'p' }),
  ];
  await analytics.close();
  assert.equal(gateway.requests.length, 1);
  assert.deepEqual(
    gateway.calls.map(({ messageId }) => messageId),
    ids,
  );
  const types = gateway.calls.map(({ type }) => type);
  assert.deepEqual(types, ['identify', 'track', 'page', 'screen', 'group', 'alias']);
});

test('the address of batches is taken as the endpoint too', async () => {
  for (const path of ['/v1/batch', '/v1/batch/', '/v1', '']) {
    const analytics = connect({ endpoint: `${gateway.url}${path}` });
    analytics.identify({ userId: 'u' });
    await analytics.close();
    assert.equal(gateway.requests.at(-1)?.url, '/v1/batch');
  }
});

test('a request names the source by Basic authentication, the library and the time of sending', async () => {
  const analytics = connect({ endpoint: `${gateway.url}/some/path/` });
  const beforeMs = Date.now();
  analytics.identify({ userId: 'u' });
  await analytics.close();
  const { url, headers, body } = gateway.requests[0] ?? assert.fail('no request');
  assert.equal(url, '/some/path/v1/batch');
  assert.equal(headers.authorization, `Basic ${Buffer.from('wk_shop:').toString('base64')}`);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['user-agent'], `postrider-client/${packageJson.version}`);
  assert.deepEqual(body['context'], { library });
  const sentAtMs = Date.parse(String(body['sentAt']));
  assert.ok(sentAtMs >= beforeMs && sentAtMs <= Date.now());
});

test('the smaller of size and flushAt fills a batch', async () => {
  for (const sizes of [{ size: 2 }, { flushAt: 2 }, { size: 2, flushAt: 7 }]) {
    gateway.requests.length = 0;
    const analytics = connect(sizes);
    for (let i = 0; i < 5; i += 1) analytics.identify({ userId: `u${i}` });
    await analytics.close();
    const lengths = gateway.requests.map(({ body }) => body.batch.length);
    assert.deepEqual(lengths.sort(), [1, 2, 2]);
  }
});

test('twenty calls leave without a flush, and a lone one leaves after flushAfter', async () => {
  const analytics = connect({ flushAfter: 50 });
  for (let i = 0; i < 21; i += 1) analytics.identify({ userId: `u${i}` });
  await eventually(() => {
    assert.equal(gateway.calls.length, 21);
  });
  assert.deepEqual(gateway.requests.map(({ body }) => body.batch.length).sort(), [1, 20]);
  await analytics.close();
});

test('no request is larger than 500 KB', async () => {
  const analytics = connect({ size: 1_000, flushAt: 1_000 });
  const note = 'é'.repeat(15_000);
  for (let i = 0; i < 40; i += 1) {
    analytics.track({ userId: 'u', event: 'E', properties: { note } });
  }
  await analytics.close();
  const sizes = gateway.requests.map(({ bytes }) => bytes);
  assert.equal(gateway.calls.length, 40);
  assert.equal(sizes.length, 3);
  assert.ok(Math.max(...sizes) <= maxBodyBytes && Math.max(...sizes) > maxBodyBytes * 0.9);
});

test('no request has more calls than the gateway takes, whatever size says', async () => {
  const lost: string[] = [];
  gateway.answer = (nth) =>
    (gateway.requests[nth - 1]?.body.batch.length ?? 0) > maxBatchCalls ? { status: 400 } : ok;
  const analytics = connect({
    ...{ size: 8_000, flushAt: 8_000 },
    onError: ({ code }) => lost.push(code),
  });
  const timestamp = '2026-11-21T12:00:00.000Z';
  for (let i = 0; i < 6_000; i += 1) {
    analytics.identify({ userId: 'u', messageId: String(i), timestamp });
  }
  await analytics.close();
  assert.deepEqual(lost, []);
  assert.deepEqual(gateway.requests.map(({ body }) => body.batch.length).sort(), [1_000, 5_000]);
});

test('a request may have exactly 500 KB', async () => {
  const requestBytes = async (count: number, callBytes: number): Promise<number[]> => {
    gateway.requests.length = 0;
    const analytics = connect();
    const call = { userId: 'u', messageId: 'm', timestamp: '2026-11-21T12:00:00.000Z' };
    const rest = JSON.stringify({ type: 'identify', ...call, traits: { note: '' } }).length;
    const traits = { note: 'x'.repeat(callBytes - rest) };
    for (let i = 0; i < count; i += 1) analytics.identify({ ...call, traits });
    await analytics.close();
    return gateway.requests.map(({ bytes }) => bytes);
  };
  const [alone = 0] = await requestBytes(1, 30_000);
  // Of 17 calls, 16 commas between them and what is around them.
  const largest = Math.floor((maxBodyBytes - (alone - 30_000) - 17) / 17);
  const [whole = 0, ...others] = await requestBytes(17, largest);
  assert.deepEqual(others, []);
  assert.ok(whole <= maxBodyBytes && whole > maxBodyBytes - 18, `${whole} bytes`);
  assert.equal((await requestBytes(17, largest + 1)).length, 2);
});

test('a call that is refused leaves the others alone', async () => {
  const analytics = connect();
  analytics.identify({ userId: 'before' });
  assert.equal(
    codeOf(() => analytics.identify({ userId: 'u', traits: { bad: 1n } })),
    'unserializable',
  );
  assert.equal(
    codeOf(() =>
      analytics.track({ userId: 'u', event: 'E', properties: { x: 'x'.repeat(40_000) } }),
    ),
    'too-large',
  );
  assert.equal(
    codeOf(() => analytics.track({ userId: 'u', event: '' })),
    'invalid-call',
  );
  analytics.identify({ userId: 'after' });
  await analytics.close();
  assert.deepEqual(
    gateway.calls.map(({ userId }) => userId),
    ['before', 'after'],
  );
});

test('a full queue loses the next call, which onError gets, and takes one once there is room', async () => {
  const lost: string[] = [];
  const analytics = connect({
    maxQueued: 2,
    onError: ({ code, message }, { json }) => {
      lost.push(`${code}: ${message} ${(JSON.parse(json) as { userId: string }).userId}`);
    },
  });
  analytics.identify({ userId: 'u1' });
  analytics.identify({ userId: 'u2' });
  const id = analytics.identify({ userId: 'u3', messageId: 'mine' });
  assert.equal(id, 'mine');
  assert.deepEqual(lost, ['queue-full: 2 calls wait already. u3']);
  assert.equal(
    codeOf(() => analytics.identify({ userId: '' })),
    'invalid-call',
  );
  await assert.rejects(analytics.flush(), { lost: { 'queue-full': 1 } });
  analytics.identify({ userId: 'u4' });
  await analytics.close();
  assert.deepEqual(
    gateway.calls.map(({ userId }) => userId),
    ['u1', 'u2', 'u4'],
  );
});

test('a queue that is full does not wait for more calls, which it could not take', async (t) => {
  const lost: string[] = [];
  let delivered = 0;
  const analytics = connect({
    ...{ maxQueued: 3, flushAfter: 3_600_000 },
    onDelivered: () => (delivered += 1),
    onError: ({ code }) => lost.push(code),
  });
  t.after(() => analytics.close());
  for (let sent = 0; sent < 9; sent += 3) {
    for (let i = 0; i < 3; i += 1) analytics.identify({ userId: 'u' });
    await eventually(() => {
      assert.equal(delivered, sent + 3);
    });
  }
  assert.deepEqual(lost, []);
});

test('what is on its way counts as queued', async () => {
  const { promise, resolve } = Promise.withResolvers<typeof ok>();
  gateway.answer = () => promise;
  const lost: string[] = [];
  const analytics = connect({ maxQueued: 1, flushAt: 1, onError: ({ code }) => lost.push(code) });
  analytics.identify({ userId: 'u1' });
  await eventually(() => {
    assert.equal(gateway.requests.length, 1);
  });
  analytics.identify({ userId: 'u2' });
  assert.deepEqual(lost, ['queue-full']);
  resolve(ok);
  await assert.rejects(analytics.close(), { lost: { 'queue-full': 1 } });
});

test('an onError that makes a call is not called again for that one when it is lost too', async () => {
  let told = 0;
  const analytics = connect({
    maxQueued: 1,
    onError: () => {
      told += 1;
      analytics.track({ userId: 'u', event: 'Call Lost' });
    },
  });
  for (let i = 0; i < 3; i += 1) analytics.identify({ userId: 'u' });
  assert.equal(told, 2);
  await assert.rejects(analytics.close(), { lost: { 'queue-full': 4 } });
  assert.equal(gateway.calls.length, 1);
});

test('a server that answers 500, 408 or 429 gets the same calls again, with a new time of sending', async () => {
  const answers = [
    { status: 500 },
    { status: 408 },
    { status: 429, headers: { 'retry-after': '0' } },
    ok,
  ];
  gateway.answer = (nth) => answers[nth - 1] ?? ok;
  const analytics = connect();
  const id = analytics.identify({ userId: 'u' });
  await analytics.close();
  assert.equal(gateway.requests.length, 4);
  const bodies = gateway.requests.map(({ body }) => body);
  assert.deepEqual(
    bodies.map(({ batch }) => batch.map(({ messageId }) => messageId)),
    [[id], [id], [id], [id]],
  );
  assert.notEqual(bodies[0]?.['sentAt'], bodies[3]?.['sentAt']);
});

test('a clock that is set back while the endpoint wants a pause does not stretch it', async (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  gateway.answer = (nth) => {
    if (nth > 1) return ok;
    // Once the client has read this, and before its pause is over.
    setTimeout(() => {
      context.mock.timers.setTime(Date.now() - 3_600_000);
    }, 500);
    return { status: 503, headers: { 'retry-after': '2' } };
  };
  const analytics = connect();
  context.after(() => analytics.close({ timeoutMs: 0 }).catch(() => undefined));
  analytics.identify({ userId: 'u' });
  await analytics.flush();
  assert.equal(gateway.calls.length, 1);
}, 10_000);

test('callbacks are called once for each call', async () => {
  const delivered: AcceptedCall[] = [];
  const failed: [AnalyticsError, AcceptedCall][] = [];
  const analytics = connect({
    flushAt: 1,
    onDelivered: (call) => delivered.push(call),
    onError: (error, call) => failed.push([error, call]),
  });
  const first = analytics.track({ userId: 'u', event: 'E' });
  await analytics.flush();
  gateway.answer = () => ({ status: 401, body: '{"code":"x","message":"no such write key"}' });
  const second = analytics.identify({ userId: 'u' });
  await assert.rejects(analytics.close(), { name: 'CallsLostError' });
  assert.deepEqual(
    delivered.map(({ messageId, type }) => [messageId, type]),
    [[first, 'track']],
  );
  assert.equal((JSON.parse(delivered[0]?.json ?? '') as AcceptedCall).messageId, first);
  const [[error, call] = assert.fail('no error')] = failed;
  assert.deepEqual([failed.length, call.messageId, error.code], [1, second, 'refused']);
  assert.equal(error.message, 'the endpoint answered 401: no such write key');
  assert.equal(gateway.requests.length, 2);
});

test('a redirect is not followed', async () => {
  gateway.answer = () => ({ status: 301, headers: { location: '/elsewhere' } });
  const errors: string[] = [];
  const analytics = connect({ onError: ({ message }) => errors.push(message) });
  analytics.identify({ userId: 'u' });
  await assert.rejects(analytics.close(), CallsLostError);
  assert.deepEqual(errors, ['the endpoint answered 301']);
  assert.equal(gateway.requests.length, 1);
});

test('without onError the first lost call of a reason is a warning, and so is how many more a minute', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  gateway.answer = () => ({ status: 403 });
  const warnings: string[] = [];
  context.mock.method(process, 'emitWarning', (message: string, { type }: { type: string }) => {
    warnings.push(`${type}: ${message}`);
  });
  const analytics = connect({ maxQueued: 2 });
  const id = analytics.identify({ userId: 'u' });
  analytics.identify({ userId: 'u' });
  const third = analytics.identify({ userId: 'u' });
  for (let i = 0; i < 5; i += 1) analytics.identify({ userId: 'u' });
  await assert.rejects(analytics.flush(), CallsLostError);
  context.mock.timers.tick(60_000);
  const refused = 'lost: the endpoint answered 403';
  const expected = [
    `identify ${third} was lost: 2 calls wait already.`,
    `identify ${id} was ${refused}`,
    '5 more calls were lost: 2 calls wait already.',
    `1 more call was ${refused}`,
  ].map((message) => `PostriderClientWarning: ${message}`);
  assert.deepEqual(warnings, expected);
  context.mock.timers.tick(60_000);
  assert.deepEqual(warnings, expected);
  const again = analytics.identify({ userId: 'u' });
  await assert.rejects(analytics.flush(), CallsLostError);
  assert.equal(warnings.at(-1), `PostriderClientWarning: identify ${again} was ${refused}`);
  await analytics.close();
});

test('a callback that throws is a warning, and nothing else', async () => {
  const warned = once(process, 'warning');
  const analytics = connect({
    onDelivered: () => {
      throw new Error('mine');
    },
  });
  analytics.identify({ userId: 'u' });
  await analytics.close();
  const [{ message }] = (await warned) as [Error];
  assert.equal(message, 'onDelivered or onError threw: Error: mine');
});

test('callbacks that are null are as if they were not given', async () => {
  gateway.answer = (nth) => (nth === 1 ? { status: 403 } : ok);
  const warned = once(process, 'warning');
  const none = { onDelivered: null, onError: null } as unknown as AnalyticsOptions;
  const analytics = connect(none);
  const id = analytics.identify({ userId: 'u' });
  await assert.rejects(analytics.flush(), CallsLostError);
  analytics.identify({ userId: 'u' });
  await analytics.close();
  const [{ message }] = (await warned) as [Error];
  assert.equal(message, `identify ${id} was lost: the endpoint answered 403`);
});

test('after close every call is lost, which onError gets, and closing again is the same', async () => {
  const lost: string[] = [];
  const analytics = connect({ onError: ({ code }, { messageId }) => lost.push(code, messageId) });
  analytics.identify({ userId: 'u' });
  const closed = analytics.close();
  const late = analytics.identify({ userId: 'late' });
  assert.deepEqual(lost, ['closed', late]);
  assert.equal(analytics.close(), closed);
  await assert.rejects(closed, { lost: { closed: 1 } });
  await analytics.flush();
  assert.equal(gateway.calls.length, 1);
  await connect().close();
});

test('flush and close reject when calls were lost: each flush with those since the one before', async () => {
  const told: string[] = [];
  const analytics = connect({
    ...{ maxQueued: 4, flushAt: 2 },
    onError: ({ code }) => told.push(code),
  });
  gateway.answer = (nth) => ({ status: 401, body: `{"message":"unknown key ${nth}"}` });
  for (let i = 0; i < 5; i += 1) analytics.identify({ userId: 'u' });
  const first = { code: 'calls-lost', lost: { 'queue-full': 1, refused: 4 } };
  const both = [analytics.flush(), analytics.flush()];
  await assert.rejects(both[0] ?? assert.fail(), {
    ...first,
    message:
      '5 calls were lost: 1 queue-full, 4 refused (the endpoint answered 401: unknown key 1, and others).',
  });
  // It was asked while the first one was waiting, and the call that found the queue full was told there.
  await assert.rejects(both[1] ?? assert.fail(), { code: 'calls-lost', lost: { refused: 4 } });
  await analytics.flush();
  gateway.answer = () => ok;
  analytics.identify({ userId: 'u' });
  await analytics.flush();
  analytics.identify({ userId: 'u' });
  const closed = analytics.close();
  analytics.identify({ userId: 'late' });
  await assert.rejects(closed, { lost: { closed: 1 }, message: '1 call was lost: 1 closed.' });
  assert.deepEqual(told, ['queue-full', 'refused', 'refused', 'refused', 'refused', 'closed']);
});

test('calls that are lost while nobody waits for a flush reject nothing but the next one', async () => {
  gateway.answer = () => ({ status: 400 });
  const told: string[] = [];
  const analytics = connect({ flushAt: 1, onError: ({ code }) => told.push(code) });
  analytics.identify({ userId: 'u' });
  await eventually(() => {
    assert.deepEqual(told, ['refused']);
  });
  // An unhandled rejection would end this process.
  await new Promise(setImmediate);
  await assert.rejects(analytics.flush(), CallsLostError);
  await analytics.close();
});

test('close ends at its time and tells which calls were not delivered', async () => {
  gateway.answer = () => new Promise(() => undefined);
  const errors: string[] = [];
  const analytics = connect({ onError: ({ code }) => errors.push(code) });
  analytics.identify({ userId: 'u1' });
  analytics.identify({ userId: 'u2' });
  const closed = analytics.close({ timeoutMs: 100 });
  await assert.rejects(closed, {
    code: 'calls-lost',
    message: '2 calls were lost: 2 not-delivered (the time for closing was over).',
  });
  assert.deepEqual(errors, ['not-delivered', 'not-delivered']);
});

test('close may be given more time than a timer of Node can wait', async () => {
  for (const timeoutMs of [Infinity, Number.MAX_VALUE, 2 ** 31]) {
    const gone = gateway.requests.length;
    // Sent again after more than the 1 ms that Node makes of such a time.
    gateway.answer = (nth) => (nth === gone + 1 ? { status: 503 } : ok);
    const analytics = connect();
    const id = analytics.identify({ userId: 'u' });
    await analytics.close({ timeoutMs });
    assert.equal(gateway.calls.at(-1)?.messageId, id);
  }
});

test('a time for closing that is none is refused, and the client stays open', async () => {
  const analytics = connect();
  await assert.rejects(analytics.close(5_000 as unknown as object), {
    code: 'invalid-option',
    message: 'the argument of close is 5000, allowed: an object.',
  });
  for (const timeoutMs of [NaN, -1, -Infinity, '5000', {}, true] as number[]) {
    await assert.rejects(analytics.close({ timeoutMs }), {
      code: 'invalid-option',
      message: /^timeoutMs is .+, allowed: milliseconds from 0, or Infinity\.$/,
    });
  }
  await assert.rejects(analytics.close({ timeout: 5_000 } as object), {
    code: 'invalid-option',
    message: 'timeout is not an option, allowed: timeoutMs.',
  });
  analytics.identify({ userId: 'u' });
  await analytics.close();
  assert.equal(gateway.calls.length, 1);
});
