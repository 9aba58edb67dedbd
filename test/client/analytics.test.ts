import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import {
  Analytics,
  AnalyticsError,
  type AcceptedCall,
  type AnalyticsOptions,
} from '../../src/client/index.ts';
import { library } from '../../src/client/library.ts';
import { maxBodyBytes } from '../../src/event/limits.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { eventually } from '../harness/eventually.ts';
import { ok, startFakeGateway, type FakeGateway } from './fake-gateway.ts';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(async () => {
  await gateway.close();
});

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

test('a full queue refuses the next call and takes it once there is room', async () => {
  const analytics = connect({ maxQueued: 2 });
  analytics.identify({ userId: 'u1' });
  analytics.identify({ userId: 'u2' });
  assert.equal(
    codeOf(() => analytics.identify({ userId: 'u3' })),
    'queue-full',
  );
  await analytics.flush();
  assert.equal(
    codeOf(() => analytics.identify({ userId: 'u3' })),
    'none',
  );
  await analytics.close();
  assert.equal(gateway.calls.length, 3);
});

test('what is on its way counts as queued', async () => {
  const { promise, resolve } = Promise.withResolvers<typeof ok>();
  gateway.answer = () => promise;
  const analytics = connect({ maxQueued: 1, flushAt: 1 });
  analytics.identify({ userId: 'u1' });
  await eventually(() => {
    assert.equal(gateway.requests.length, 1);
  });
  assert.equal(
    codeOf(() => analytics.identify({ userId: 'u2' })),
    'queue-full',
  );
  resolve(ok);
  await analytics.close();
});

test('a server that answers 500, then 429, gets the same calls again, with a new time of sending', async () => {
  const answers = [{ status: 500 }, { status: 429, headers: { 'retry-after': '0' } }, ok];
  gateway.answer = (nth) => answers[nth - 1] ?? ok;
  const analytics = connect();
  const id = analytics.identify({ userId: 'u' });
  await analytics.close();
  assert.equal(gateway.requests.length, 3);
  const bodies = gateway.requests.map(({ body }) => body);
  assert.deepEqual(
    bodies.map(({ batch }) => batch.map(({ messageId }) => messageId)),
    [[id], [id], [id]],
  );
  assert.notEqual(bodies[0]?.['sentAt'], bodies[2]?.['sentAt']);
});

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
  await analytics.close();
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
  await analytics.close();
  assert.deepEqual(errors, ['the endpoint answered 301']);
  assert.equal(gateway.requests.length, 1);
});

test('without onError lost calls are a warning a second, and so is a callback that throws', async () => {
  gateway.answer = (nth) => (nth === 1 ? { status: 403 } : ok);
  const warnings: Error[] = [];
  const listen = (warning: Error): void => void warnings.push(warning);
  process.on('warning', listen);
  const analytics = connect({
    onDelivered: () => {
      throw new Error('mine');
    },
  });
  const id = analytics.identify({ userId: 'u' });
  for (let i = 0; i < 5; i += 1) analytics.identify({ userId: 'u' });
  await analytics.flush();
  analytics.identify({ userId: 'u' });
  await analytics.close();
  await eventually(() => {
    assert.equal(warnings.length, 2);
  });
  process.off('warning', listen);
  assert.deepEqual(
    warnings.map(({ name, message }) => `${name}: ${message}`),
    [
      `PostriderClientWarning: identify ${id} was not delivered: the endpoint answered 403`,
      'PostriderClientWarning: onDelivered or onError threw: Error: mine',
    ],
  );
});

test('callbacks that are null are as if they were not given', async () => {
  gateway.answer = (nth) => (nth === 1 ? { status: 403 } : ok);
  const warned = once(process, 'warning');
  const none = { onDelivered: null, onError: null } as unknown as AnalyticsOptions;
  const analytics = connect(none);
  const id = analytics.identify({ userId: 'u' });
  await analytics.flush();
  analytics.identify({ userId: 'u' });
  await analytics.close();
  const [{ message }] = (await warned) as [Error];
  assert.equal(message, `identify ${id} was not delivered: the endpoint answered 403`);
});

test('after close every call is refused, and closing again is the same', async () => {
  const analytics = connect();
  analytics.identify({ userId: 'u' });
  const closed = analytics.close();
  assert.equal(
    codeOf(() => analytics.identify({ userId: 'late' })),
    'closed',
  );
  assert.equal(analytics.close(), closed);
  await closed;
  await analytics.flush();
  assert.equal(gateway.calls.length, 1);
  await connect().close();
});

test('close ends at its time and tells which calls were not delivered', async () => {
  gateway.answer = () => new Promise(() => undefined);
  const errors: string[] = [];
  const analytics = connect({ onError: ({ code }) => errors.push(code) });
  analytics.identify({ userId: 'u1' });
  analytics.identify({ userId: 'u2' });
  const closed = analytics.close({ timeoutMs: 100 });
  await assert.rejects(closed, {
    code: 'not-delivered',
    message: 'Calls that could not be delivered in time: 2.',
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
    message: 'what close was given is 5000, allowed: an object.',
  });
  for (const timeoutMs of [NaN, -1, -Infinity, '5000', {}, true] as number[]) {
    await assert.rejects(analytics.close({ timeoutMs }), {
      code: 'invalid-option',
      message: /^timeoutMs is .+, allowed: milliseconds from 0, or Infinity\.$/,
    });
  }
  analytics.identify({ userId: 'u' });
  await analytics.close();
  assert.equal(gateway.calls.length, 1);
});
