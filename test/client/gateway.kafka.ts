import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Analytics, type AnalyticsOptions } from '../../src/client/index.ts';
import { verifySignature } from '../../src/client/verify.ts';
import { startReceiver, type Arrival, type Receiver } from '../../src/dev/receiver.ts';
import { eventually } from '../harness/eventually.ts';
import { startFaultyProxy, type Fault, type FaultyProxy } from '../harness/faulty-proxy.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const secret = 'teehee';
/** By message id, in the order of arrival. */
const arrivals = new Map<string, Arrival[]>();
let receiver: Receiver;
let postrider: Installation;
let gateway: RunningRole;
let others: RunningRole[] = [];
let proxy: FaultyProxy;

before(async () => {
  receiver = await startReceiver({
    port: 0,
    answer: (arrival) => {
      const messageId = String(arrival.headers['idempotency-key']);
      arrivals.set(messageId, [...(arrivals.get(messageId) ?? []), arrival]);
      return { status: 200 };
    },
  });
  postrider = await install();
  const topics = await postrider.run(['topics', '--create', '--check']);
  assert.equal(topics.code, 0, topics.stderr);
  const destination = {
    ...{ kind: 'Destination', id: 'crm', name: 'CRM', sources: ['shop'], sharedSecret: secret },
    webhooks: [{ url: receiver.url }],
    idempotencyHeader: 'Idempotency-Key',
  };
  const source = { kind: 'Source', id: 'shop', name: 'Web shop', writeKeys: ['wk_shop'] };
  const stdin = JSON.stringify([source, destination]);
  const applied = await postrider.run(['apply', '-f', '-'], { stdin });
  assert.equal(applied.code, 0, applied.stderr);
  [gateway, ...others] = await Promise.all([
    postrider.start('gateway'),
    postrider.start('router'),
    postrider.start('delivery'),
  ]);
  proxy = await startFaultyProxy(Number(new URL(gateway.gatewayUrl).port));
});

after(async () => {
  await proxy.close();
  await Promise.all([gateway, ...others].map((role) => role.kill('SIGKILL')));
  await receiver.close();
});

function connect(options: AnalyticsOptions = {}): Analytics {
  return new Analytics('wk_shop', {
    endpoint: proxy.url,
    onError: (error) => {
      assert.fail(error);
    },
    ...options,
  });
}

async function arrivalOf(messageId: string): Promise<Arrival> {
  return eventually(() => arrivals.get(messageId)?.[0] ?? assert.fail(`no ${messageId} yet`));
}

test('a call of each type arrives at the webhook as the documented body, signed', async () => {
  const analytics = connect();
  const timestamp = '2012-12-02T00:30:08.276Z';
  const context = { ip: '203.0.113.7' };
  const common = { userId: 'u', timestamp, context };
  const expected = [
    [
      analytics.track({ ...common, event: 'Bought', properties: { total: 39.95 } }),
      { type: 'track', userId: 'u', event: 'Bought', properties: { total: 39.95 } },
    ],
    [
      analytics.page({ ...common, name: 'Pricing', traits: { path: '/pricing' } }),
      { type: 'page', userId: 'u', properties: { path: '/pricing', name: 'Pricing' } },
    ],
    [
      analytics.screen({ ...common, name: 'Home', properties: { a: 1 } }),
      { type: 'screen', userId: 'u', name: 'Home', properties: { a: 1 } },
    ],
    [
      analytics.identify({ ...common, traits: { plan: 'pro' } }),
      { type: 'identify', userId: 'u', traits: { plan: 'pro' } },
    ],
    [
      analytics.group({ ...common, groupId: 'g', traits: { size: 3 } }),
      { type: 'group', userId: 'u', groupId: 'g', traits: { size: 3 } },
    ],
    [
      analytics.alias({ ...common, previousId: 'p' }),
      { type: 'alias', 'Previous ID': 'p', 'User ID': 'u' },
    ],
  ] as const;
  await analytics.close();
  for (const [messageId, fields] of expected) {
    const { body, headers } = await arrivalOf(messageId);
    assert.ok(verifySignature(secret, body, headers['x-signature']));
    const parsed = JSON.parse(body.toString()) as Record<string, unknown> & {
      readonly context: { readonly library: { readonly name: string } };
    };
    assert.equal(parsed.context.library.name, 'postrider-client');
    assert.deepEqual(
      { ...parsed, context: undefined, timestamp: undefined },
      { version: 1, ...fields, context: undefined, timestamp: undefined },
    );
    // The gateway corrects it by how far the two clocks are apart, which is the way of the request.
    const correctedMs = Date.parse(String(parsed['timestamp'])) - Date.parse(timestamp);
    assert.ok(correctedMs >= 0 && correctedMs < 10_000, `${correctedMs} ms`);
  }
});

test('whatever lies between client and gateway, every accepted call arrives, with one message id', async () => {
  const accepted = new Map<string, string>();
  const analytics = connect({ flushAt: 5 });
  const accept = (count: number): void => {
    for (let i = 0; i < count; i += 1) {
      const userId = `fault-${accepted.size}`;
      accepted.set(analytics.track({ userId, event: 'Bought' }), userId);
    }
  };
  const faults: readonly Fault[] = ['refuse', 'cut-requests', 'cut-answers', 'answer-500', 'delay'];
  for (const fault of faults) {
    proxy.set(fault);
    accept(50);
    await eventually(() => {
      assert.ok(proxy.hits[fault] >= 3, fault);
    });
    proxy.set(undefined);
    accept(50);
    await analytics.flush();
  }
  await analytics.close();
  for (const [messageId, userId] of accepted) {
    const { body } = await arrivalOf(messageId);
    assert.equal((JSON.parse(body.toString()) as { userId: string }).userId, userId);
  }
});

test('a gateway that is killed while calls come in loses none that was acknowledged or waits', async () => {
  const { port } = new URL(gateway.gatewayUrl);
  const delivered = new Set<string>();
  const analytics = connect({
    endpoint: gateway.gatewayUrl,
    ...{ flushAt: 5, maxQueued: 1_000_000 },
    onDelivered: ({ messageId }) => delivered.add(messageId),
  });
  const accepted: string[] = [];
  const accept = (): void => {
    accepted.push(analytics.track({ userId: `kill-${accepted.length}`, event: 'Bought' }));
  };
  const load = setInterval(() => {
    for (let i = 0; i < 5; i += 1) accept();
  }, 5);
  await eventually(() => {
    assert.ok(delivered.size >= 200);
  });
  await gateway.kill('SIGKILL');
  const acknowledged = [...delivered];
  gateway = await postrider.start('gateway', { GATEWAY_PORT: port });
  clearInterval(load);
  await analytics.close();
  assert.equal(delivered.size, accepted.length);
  for (const messageId of [...acknowledged, ...accepted]) await arrivalOf(messageId);
});
