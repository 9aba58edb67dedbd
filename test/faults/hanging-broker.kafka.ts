import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startBrokers } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

type Cluster = Awaited<ReturnType<typeof startBrokers>>;

/** The least that docs/production.md asks of a deployment. */
const graceMs = 35_000;
const calls = 2_000;

/** A broker of its own: it is hung for good. */
let cluster: Cluster;
let postrider: Installation;
let receiver: Receiver;
let arrived = 0;
const roles: RunningRole[] = [];

before(async () => {
  cluster = await startBrokers(1);
  receiver = await startReceiver({
    port: 0,
    answer: () => {
      arrived += 1;
      return { status: 200, delayMs: 20 };
    },
  });
  postrider = await install({ KAFKA_BROKERS: cluster.brokers.join(',') });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const destination = {
    kind: 'Destination',
    sources: ['shop'],
    maxInFlight: 2,
    webhooks: [{ url: receiver.url }],
  };
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    { ...destination, id: 'crm', name: 'CRM' },
    { ...destination, id: 'big', name: 'Big', topic: 'dedicated' },
  ];
  const stdin = JSON.stringify(resources);
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
  for (const name of ['gateway', 'router', 'delivery'] as const)
    roles.push(await postrider.start(name));
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await receiver.close();
  await cluster.stop();
});

async function writeCalls(): Promise<void> {
  const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  await producer.send(
    Array.from({ length: calls }, (_, n) => ({
      topic: `${postrider.environment['TOPIC_PREFIX'] ?? ''}ingest`,
      key: `u${n}`,
      value: JSON.stringify({ type: 'identify', messageId: `m${n}`, userId: `u${n}` }),
      headers: { 'write-key': 'wk' },
    })),
  );
  await producer.close(5_000);
}

test('a role that is told to end while its broker hangs ends in time, with code 0', async () => {
  await writeCalls();
  await eventually(() => {
    assert.ok(arrived > 100);
  });
  assert.ok(arrived < calls, 'the workers are still busy');
  cluster.hang(1);
  const tooLate = delay(graceMs, 'still running', { ref: false });
  const ended = roles.map((role) => Promise.race([role.kill('SIGTERM'), tooLate]));
  assert.deepEqual(await Promise.all(ended), [0, 0, 0]);
});
