import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import {
  deliveryKey,
  encodeEnvelope,
  envelopeHeader,
  type Envelope,
} from '../../src/event/envelope.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startBrokers } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

type Cluster = Awaited<ReturnType<typeof startBrokers>>;

const events = 400;
const answerMs = 50;
const arrived: string[] = [];
/** A broker of its own: the test takes it away. */
let cluster: Cluster;
let postrider: Installation;
let receiver: Receiver;
let delivery: RunningRole | undefined;

before(async () => {
  cluster = await startBrokers(1);
  receiver = await startReceiver({
    port: 0,
    answer: ({ body }) => {
      arrived.push(body.toString());
      return { status: 200, delayMs: answerMs };
    },
  });
  postrider = await install({
    KAFKA_BROKERS: cluster.brokers.join(','),
  });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    {
      kind: 'Destination',
      id: 'crm',
      name: 'CRM',
      sources: ['shop'],
      maxInFlight: 1,
      webhooks: [{ url: receiver.url }],
    },
  ];
  const stdin = JSON.stringify(resources);
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
});

after(async () => {
  await delivery?.kill('SIGKILL');
  await receiver.close();
  await cluster.stop();
});

async function writeEvents(): Promise<void> {
  const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  const envelope: Envelope = {
    destinationId: 'crm',
    sourceId: 'shop',
    messageId: 'm',
    type: 'track',
    attempts: 0,
    configOffset: 0,
    appendTimeMs: Date.now(),
  };
  await producer.send(
    Array.from({ length: events }, (_, n) => ({
      topic: `${postrider.environment['TOPIC_PREFIX'] ?? ''}delivery`,
      key: deliveryKey('crm', `u${n}`),
      value: `{"n":${n}}`,
      headers: { [envelopeHeader]: encodeEnvelope(envelope) },
    })),
  );
  await producer.close(5_000);
}

test('a worker that hears no more of deletions stops sending what it has, and goes on when it does', async () => {
  await writeEvents();
  const worker = await postrider.start('delivery');
  delivery = worker;
  await eventually(() => {
    assert.ok(arrived.length > 10);
  });
  await cluster.kill(1);
  await eventually(() => {
    assert.match(worker.log(), /the latest deletions are not known/);
  });
  assert.ok(arrived.length < events / 2, `${arrived.length} have arrived before it noticed`);
  const before = arrived.length;
  // In the time that these take, it would have sent as many.
  for (let n = 0; n < 40; n += 1) await fetch(receiver.url, { method: 'POST', body: 'control' });
  const others = arrived.slice(before).filter((body) => body !== 'control');
  assert.ok(others.length <= 1, `${others.length} were sent besides the one on its way`);

  await cluster.start(1);
  await eventually(() => {
    const all = new Set(arrived);
    all.delete('control');
    assert.equal(all.size, events);
  }, 60_000);
  assert.match(worker.log(), /the latest deletions are known again/);
});
