import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import process from 'node:process';
import { test, type TestContext } from 'node:test';
import { Analytics, type AnalyticsOptions } from '../../src/client/index.ts';
import { startFakeGateway } from './fake-gateway.ts';

/** The messages of the error that `onError` gets, and of the one that closing rejects with. */
async function messagesOf(
  options: AnalyticsOptions,
  failed: (analytics: Analytics) => Promise<unknown>,
): Promise<string[]> {
  const messages: string[] = [];
  const onError = ({ message }: Error): void => void messages.push(message);
  const analytics = new Analytics('wk_shop', { ...options, flushAt: 1, onError });
  analytics.identify({ userId: 'u' });
  await failed(analytics);
  await analytics.close({ timeoutMs: 1 }).catch(onError);
  return messages;
}

function expected(lastFailure: string): string[] {
  return [
    `the time for closing was over; the last failure: ${lastFailure}`,
    `1 call was lost: 1 not-delivered (the time for closing was over; the last failure: ${lastFailure}).`,
  ];
}

test('what could not be delivered over HTTP is told with what failed last', async (context) => {
  const gateway = await startFakeGateway();
  context.after(() => gateway.close());
  const second = Promise.withResolvers<undefined>();
  gateway.answer = (nth) => {
    if (nth === 1) return { status: 503, body: '{"message":"Kafka is away"}' };
    second.resolve(undefined);
    return new Promise(() => undefined);
  };
  const messages = await messagesOf({ endpoint: gateway.url }, () => second.promise);
  assert.deepEqual(messages, expected('the endpoint answered 503: Kafka is away'));
});

test('what could not be delivered to Kafka is told with what failed last', async (context) => {
  const broker = await startBrokerThatHangsUp(context);
  const options = { transport: 'kafka', kafka: { brokers: [broker.address] } } as const;
  const messages = await messagesOf(options, () => broker.failedOnce);
  const lastFailure = 'Kafka cannot be reached, trying again: Closed connection';
  assert.deepEqual(messages, expected(lastFailure));
});

test('Kafka that is away for 10 s is told by a warning before any closing', async (context) => {
  const broker = await startBrokerThatHangsUp(context);
  let passedMs = 0;
  const steadyNow = performance.now.bind(performance);
  context.mock.method(performance, 'now', () => steadyNow() + passedMs);
  const warned = once(process, 'warning');
  const analytics = new Analytics('wk_shop', {
    ...{ transport: 'kafka', kafka: { brokers: [broker.address] } },
    onError: () => undefined,
  });
  analytics.identify({ userId: 'u' });
  analytics.flush().catch(() => undefined);
  await broker.failedOnce;
  passedMs = 10_000;
  const [{ name, message }] = (await warned) as [Error];
  assert.equal(name, 'PostriderClientWarning');
  assert.equal(
    message,
    'No call could be delivered for 10 s; they wait and are sent again. The last failure: Kafka cannot be reached, trying again: Closed connection',
  );
  await assert.rejects(analytics.close({ timeoutMs: 1 }), { code: 'calls-lost' });
});

interface HangingUp {
  readonly address: string;
  /** Resolves when a first attempt has failed: kafkajs makes two connections in each. */
  readonly failedOnce: Promise<unknown>;
}

async function startBrokerThatHangsUp(context: TestContext): Promise<HangingUp> {
  const failedOnce = Promise.withResolvers<undefined>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    if (connections === 3) failedOnce.resolve(undefined);
    socket.on('error', () => undefined);
    socket.on('data', () => socket.end());
  });
  context.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, failedOnce: failedOnce.promise };
}
