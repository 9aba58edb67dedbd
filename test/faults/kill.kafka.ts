import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const chunk = 50;
const chunkEveryMs = 50;
/** What is written between two commits, which are a second apart; and in two more, as machines differ. */
const mostRepeated = (chunk * 3_000) / chunkEveryMs;
/** A kill when three quarters have arrived would show commits that come too rarely. */
const total = 2 * mostRepeated;
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

function idsOf(name: string): string[] {
  return Array.from({ length: total }, (_, index) => `${name}-${index}`);
}

/**
 * Writes calls for about six seconds, so that a signal meets the role at work. Each of a user of its own:
 * an event that waits for an earlier one of its user lets others pass, which are repeated after it.
 */
async function load(ids: readonly string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += chunk) {
    const records = ids.slice(start, start + chunk).map((messageId) => ({
      topic: `${postrider.environment['TOPIC_PREFIX'] ?? ''}ingest`,
      key: messageId,
      value: JSON.stringify({ type: 'identify', messageId, userId: messageId }),
      headers: { 'write-key': 'wk' },
    }));
    await Promise.all([producer.send(records), delay(chunkEveryMs)]);
  }
}

async function arrivedMoreThan(share: number, ids: readonly string[]): Promise<void> {
  await eventually(() => {
    const count = ids.filter((id) => arrived.has(id)).length;
    assert.ok(count > share * total, 'the load has not got going yet');
  });
}

async function allArrived(ids: readonly string[]): Promise<void> {
  await eventually(() => {
    const missing = ids.filter((id) => !arrived.has(id));
    assert.deepEqual(missing, []);
  }, 60_000);
}

function repeated(ids: readonly string[]): number {
  return ids.reduce((sum, id) => sum + (arrived.get(id) ?? 1) - 1, 0);
}

for (const victim of ['router', 'delivery'] as const) {
  test(`kill -9 of the ${victim} in the middle of a load loses nothing, and repeats what was not committed`, async () => {
    const ids = idsOf(`kill-${victim}`);
    const loaded = load(ids);
    await arrivedMoreThan(0.75, ids);
    await roles.get(victim)?.kill('SIGKILL');
    const countAtKill = arrived.size;
    roles.set(victim, await postrider.start(victim));
    await eventually(() => {
      assert.ok(arrived.size > countAtKill, 'nothing arrives after the restart');
    }, goOnWithinMs);
    await loaded;
    await allArrived(ids);
    assert.ok(repeated(ids) <= mostRepeated, `${repeated(ids)} repeated`);
  });

  test(`SIGTERM of the ${victim} in the middle of a load loses nothing and repeats nothing, and it ends with code 0`, async () => {
    const ids = idsOf(`term-${victim}`);
    const loaded = load(ids);
    await arrivedMoreThan(0.25, ids);
    assert.equal(await roles.get(victim)?.kill('SIGTERM'), 0);
    roles.set(victim, await postrider.start(victim));
    await loaded;
    await allArrived(ids);
    assert.equal(repeated(ids), 0);
  });
}
