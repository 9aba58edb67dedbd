import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Analytics } from '../../src/client/index.ts';
import { HttpTransport } from '../../src/client/http-transport.ts';
import { eventually } from '../harness/eventually.ts';
import { startFaultyProxy, type Fault } from '../harness/faulty-proxy.ts';
import { startFakeGateway } from './fake-gateway.ts';

const faults: readonly Fault[] = ['refuse', 'cut-requests', 'cut-answers', 'answer-500', 'delay'];

for (const fault of faults) {
  test(`every accepted call arrives, with one message id: ${fault}`, async (context) => {
    const gateway = await startFakeGateway();
    const proxy = await startFaultyProxy(gateway.port);
    context.after(async () => {
      await proxy.close();
      await gateway.close();
    });
    const delivered = new Map<string, number>();
    const analytics = new Analytics('wk_shop', {
      endpoint: proxy.url,
      onDelivered: ({ messageId }) => {
        delivered.set(messageId, (delivered.get(messageId) ?? 0) + 1);
      },
      onError: (error) => {
        throw error;
      },
    });
    const accepted = new Map<string, string>();
    const accept = (count: number): void => {
      for (let i = 0; i < count; i += 1) {
        const userId = `u${accepted.size}`;
        accepted.set(analytics.track({ userId, event: 'Bought' }), userId);
      }
    };

    accept(100);
    await analytics.flush();
    proxy.set(fault);
    accept(100);
    await eventually(() => {
      assert.ok(proxy.hits[fault] >= 3);
    });
    accept(50);
    proxy.set(undefined);
    await analytics.close();

    const arrived = new Map(gateway.calls.map(({ messageId, userId }) => [messageId, userId]));
    assert.deepEqual(arrived, accepted);
    assert.deepEqual([...delivered.keys()].sort(), [...accepted.keys()].sort());
    assert.ok([...delivered.values()].every((times) => times === 1));
  });
}

test('a server that never answers is a failed attempt', async (context) => {
  const gateway = await startFakeGateway();
  context.after(() => gateway.close());
  gateway.answer = () => new Promise(() => undefined);
  const transport = new HttpTransport({ url: gateway.url, writeKey: 'wk', timeoutMs: 50 });
  assert.deepEqual(await transport.send([]), {
    outcome: 'again',
    reason: 'no answer: no answer within 50 ms',
    waitMs: undefined,
  });
});
