import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import kafkajs from 'kafkajs';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import { extent } from './extent.ts';
import { KafkaView } from '../harness/kafka-view.ts';
import { startFastEndpoint, type FastEndpoint } from './fast-endpoint.ts';

const { Kafka, logLevel } = kafkajs;

const events = extent.eventsAtFullSpeed;
/** The worker is killed once so many have arrived. */
const killedAfter = 0.25 * events;
const destinations = Array.from({ length: 4 }, (_, n) => `d${n}`);
/** `DELIVERY_MAX_IN_FLIGHT_PER_DESTINATION` is 64. */
const mostInFlight = destinations.length * 64;
/** In any case, however fast the machine is. */
const mostRepeated = 5_000;

let endpoint: FastEndpoint;
let postrider: Installation;
let worker: RunningRole | undefined;

before(async () => {
  endpoint = await startFastEndpoint();
  postrider = await install({ TOPIC_PARTITIONS: '12' });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const stdin = JSON.stringify([
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    ...destinations.map((id) => ({
      kind: 'Destination',
      id,
      name: id,
      sources: ['shop'],
      webhooks: [{ url: endpoint.url }],
      idempotencyHeader: 'Idempotency-Key',
    })),
  ]);
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
});

after(async () => {
  await worker?.kill('SIGKILL');
  await endpoint.close();
});

const environmentOf = (name: string): string => postrider.environment[name] ?? '';
const brokers = (): string[] => environmentOf('KAFKA_BROKERS').split(',');

/** As many events, each of a user of its own, in `delivery`. By stock kafkajs: what it writes is not tested here. */
async function fill(): Promise<void> {
  const producer = new Kafka({ brokers: brokers(), logLevel: logLevel.NOTHING }).producer();
  await producer.connect();
  const each = 2_000;
  for (let from = 0; from < events; from += each) {
    await producer.send({
      topic: `${environmentOf('TOPIC_PREFIX')}delivery`,
      messages: Array.from({ length: each }, (_, i) => eventOf(from + i)),
    });
  }
  await producer.disconnect();
}

function eventOf(n: number) {
  const destinationId = destinations[n % destinations.length] ?? '';
  const envelope = encodeEnvelope({
    destinationId,
    sourceId: 'shop',
    messageId: `m${n}`,
    type: 'track',
    configOffset: 0,
    appendTimeMs: Date.now(),
    attempts: 0,
  });
  return {
    key: deliveryKey(destinationId, `u${n}`),
    value: JSON.stringify({ version: 1, type: 'track', userId: `u${n}`, event: 'Bought' }),
    headers: { [envelopeHeader]: envelope },
  };
}

test('kill -9 of a delivery worker at full speed loses nothing, and repeats what was in flight and a fifth of a second of work', async (t) => {
  const { arrivals } = endpoint;
  const kafka = new KafkaView(brokers(), environmentOf('TOPIC_PREFIX'));
  await fill();
  worker = await postrider.start('delivery');
  await eventually(() => {
    assert.ok(arrivals.length > killedAfter);
  }, 120_000);
  await worker.kill('SIGKILL');
  const atKill = arrivals.length;
  assert.ok(atKill < events, 'it was killed after its work');
  const rate = perSecond(arrivals);
  worker = await postrider.start('delivery');
  await eventually(() => {
    assert.equal(new Set(arrivals.map(({ id }) => id)).size, events);
  }, 120_000);
  await kafka.allCommitted('delivery', ['delivery']);
  const repeated = arrivals.length - events;
  t.diagnostic(
    `${events} deliveries, killed after ${atKill} at ${rate.toFixed(0)} a second: ${repeated} repeated`,
  );
  assert.ok(repeated < mostOf(rate), `${repeated} repeated, fewer than ${mostOf(rate)} expected`);
});

/** What a kill may repeat, at so many deliveries a second. */
function mostOf(rate: number): number {
  return Math.min(mostRepeated, mostInFlight + Math.round((rate * extent.commitsWithinMs) / 1_000));
}

/** In the last half second. */
function perSecond(arrivals: FastEndpoint['arrivals']): number {
  const lastMs = arrivals.at(-1)?.atMs ?? 0;
  return arrivals.filter(({ atMs }) => atMs > lastMs - 500).length * 2;
}
