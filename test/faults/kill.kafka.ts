import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const total = 3_000;
const chunk = 100;
const chunkEveryMs = 60;
/** Within this time after a restart deliveries must go on: the dead member's session is 10 s. */
const goOnWithinMs = 15_000;

const arrived = new Map<string, number>();
let receiver: Receiver;
let postrider: Installation;
let producer: Producer;
const roles = new Map<'router' | 'delivery', RunningRole>();

before(async () => {
  receiver = await startReceiver({
    port: 0,
    // Slow enough that there is always something in flight to be killed.
    answer: ({ headers }) => {
      const id = String(headers['idempotency-key']);
      arrived.set(id, (arrived.get(id) ?? 0) + 1);
      return { status: 200, delayMs: 20 };
    },
  });
  postrider = await install();
  const { KAFKA_BROKERS = '' } = postrider.environment;
  const kafka = createKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'test' }, silentLogger);
  producer = await createProducer(kafka, { log: silentLogger });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    {
      ...{ kind: 'Destination', id: 'crm', name: 'CRM', sources: ['shop'] },
      ...{ webhooks: [{ url: receiver.url }], idempotencyHeader: 'Idempotency-Key' },
    },
  ];
  const stdin = JSON.stringify(resources);
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
  for (const name of ['router', 'delivery'] as const) roles.set(name, await postrider.start(name));
});

after(async () => {
  await Promise.all([...roles.values()].map((role) => role.kill('SIGKILL')));
  await producer.close(5_000);
  await receiver.close();
});

/** Writes calls for about two seconds, so that a kill meets the role at work. */
async function load(ids: readonly string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += chunk) {
    const records = ids.slice(start, start + chunk).map((messageId, index) => ({
      topic: `${postrider.environment['TOPIC_PREFIX'] ?? ''}ingest`,
      key: `user-${index}`,
      value: JSON.stringify({ type: 'identify', messageId, userId: `user-${index}` }),
      headers: { 'write-key': 'wk' },
    }));
    await Promise.all([producer.send(records), delay(chunkEveryMs)]);
  }
}

for (const victim of ['router', 'delivery'] as const) {
  test(`kill -9 of the ${victim} in the middle of a load loses nothing`, async () => {
    const ids = Array.from({ length: total }, (_, index) => `${victim}-${index}`);
    const loaded = load(ids);
    await eventually(() => {
      const count = ids.filter((id) => arrived.has(id)).length;
      assert.ok(count > total / 4, 'the load has not got going yet');
    });
    await roles.get(victim)?.kill('SIGKILL');
    const countAtKill = arrived.size;
    roles.set(victim, await postrider.start(victim));
    await eventually(() => {
      assert.ok(arrived.size > countAtKill, 'nothing arrives after the restart');
    }, goOnWithinMs);
    await loaded;
    await eventually(() => {
      const missing = ids.filter((id) => !arrived.has(id));
      assert.deepEqual(missing, []);
    }, 60_000);
  });
}
