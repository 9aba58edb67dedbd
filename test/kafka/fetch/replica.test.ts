import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { FetcherOptions } from '../../../src/kafka/fetch/fetcher.ts';
import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import { eventually } from '../../harness/eventually.ts';
import type { FakeLog, PartitionAnswer } from '../fake-log.ts';
import { fetches, reading, until, type FetchScene } from './fetch-scene.ts';
import { passTime } from './passing-time.ts';

describe('a replica in the reader’s zone', { concurrency: true }, () => {
  test('who is sent to a replica in its zone reads there', async (t) => {
    const { brokers, logs, owner } = reading(t, 2, { rack: 'b' });
    const [log] = logs;
    if (log === undefined) return;
    log.replica = 3;
    log.inSync = [1, 3];
    log.append('a');
    await until(owner, { 0: 'a' });
    log.append('b');
    await until(owner, { 0: 'a b' });
    const asked = fetches(brokers);
    assert.equal(asked.filter((each) => each === '1: 0').length, 1);
    assert.ok(asked.includes('3: 0'));
  });

  for (const state of ['down', 'hangs'] as const)
    test(`when the replica ${state === 'down' ? 'is gone' : 'hangs'}, the leader is asked again`, async (t) => {
      const { log, owner, brokers } = await readingNearby(t);
      brokers.nodes.set(3, state);
      log.replica = undefined;
      log.append('b');
      await until(owner, { 0: 'a b' });
    });

  test('a replica whose answer contradicts itself once is asked again', async (t) => {
    const { logs, owner, brokers } = reading(t, 1, { rack: 'b' });
    const [log] = logs;
    if (log === undefined) return;
    log.replica = 3;
    log.inSync = [1, 3];
    let answers = 0;
    log.replicaAnswers = (answer) => (answers++ === 0 ? changed(answer, lastByteOfOffset) : answer);
    log.append('a');
    await until(owner, { 0: 'a' });
    assert.equal(fetches(brokers).filter((each) => each === '1: 0').length, 1);
  });

  const troubles: Readonly<Record<string, (answer: PartitionAnswer) => PartitionAnswer>> = {
    'does not have an offset': refusing('OFFSET_OUT_OF_RANGE'),
    'has not heard of the leader': refusing('UNKNOWN_LEADER_EPOCH'),
    'has lost its disk': refusing('KAFKA_STORAGE_ERROR'),
    'fails in a way that nobody knows': refusing('UNKNOWN_SERVER_ERROR'),
    'has not heard of a right': refusing('TOPIC_AUTHORIZATION_FAILED'),
    'says that the log went another way': (answer) => ({
      ...answer,
      diverging: { epoch: 0, endOffset: 0 },
      records: Buffer.alloc(0),
    }),
    'names another one': (answer) => ({
      ...answer,
      preferredReplica: 2,
      records: Buffer.alloc(0),
    }),
    'has a record that cannot be read': (answer) => changed(answer, answer.records.length - 1),
    'has a batch in a place where it cannot be': (answer) => changed(answer, lastByteOfOffset),
  };
  for (const [trouble, replicaAnswers] of Object.entries(troubles))
    test(`a replica that ${trouble} is left for its leader, which alone is believed`, async (t) => {
      const { log, owner, asked } = await readingNearby(t);
      log.replicaAnswers = (answer) => (answer.highWatermark > 1 ? replicaAnswers(answer) : answer);
      log.append('b');
      await until(owner, { 0: 'a b' });
      const before = asked(3);
      log.append('c');
      await until(owner, { 0: 'a b c' });
      assert.deepEqual([owner.told, owner.refusal, asked(3)], [[], undefined, before]);
    });
});

test('a replica that is not in sync any more is left, though it only says that nothing is new', async (t) => {
  const { log, owner, asked } = await readingNearby(t, { refreshMs: 20 });
  log.replicaAnswers = (answer) => ({
    ...answer,
    highWatermark: 1,
    lastStableOffset: 1,
    records: Buffer.alloc(0),
  });
  log.append('b');
  log.inSync = [1];
  await until(owner, { 0: 'a b' });
  const before = asked(3);
  log.replicaAnswers = (answer) => answer;
  log.inSync = [1, 3];
  log.append('c');
  await until(owner, { 0: 'a b c' });
  await eventually(() => {
    assert.ok(asked(3) > before);
  });
});

interface NearbyScene extends Pick<FetchScene, 'brokers' | 'owner'> {
  readonly log: FakeLog;
  /** How often a node was asked for the partition. */
  readonly asked: (nodeId: number) => number;
}

/** The leader, node 1, has sent the reader to node 3, which is in its zone. */
async function readingNearby(
  t: TestContext,
  options: Partial<FetcherOptions> = {},
): Promise<NearbyScene> {
  const { brokers, logs, owner } = reading(t, 1, { rack: 'b', ...options });
  const [log] = logs;
  assert.ok(log !== undefined);
  log.replica = 3;
  log.inSync = [1, 3];
  log.append('a');
  await until(owner, { 0: 'a' });
  const asked = (nodeId: number): number =>
    fetches(brokers).filter((each) => each === `${nodeId}: 0`).length;
  return { brokers, owner, log, asked };
}

function refusing(error: KafkaErrorName): (answer: PartitionAnswer) => PartitionAnswer {
  return (answer) => ({ ...answer, error, records: Buffer.alloc(0) });
}

/** With another byte in that place. */
function changed(answer: PartitionAnswer, at: number): PartitionAnswer {
  const records = Buffer.from(answer.records);
  if (at >= 0 && at < records.length) records[at] = (records[at] ?? 0) ^ 64;
  return { ...answer, records };
}

/** Of a batch's first offset, which no checksum covers. */
const lastByteOfOffset = 7;

test('a replica that hangs while the leader still names it is left alone for five minutes', async (t) => {
  const pass = passTime(t);
  const { log, owner, brokers, asked } = await readingNearby(t);
  brokers.nodes.set(3, 'hangs');
  log.append('b');
  await until(owner, { 0: 'a b' });
  const before = asked(3);
  for (const value of ['c', 'd', 'e']) {
    log.append(value);
    await eventually(() => {
      assert.ok(owner.of(0).endsWith(value));
    });
  }
  assert.equal(asked(3), before);
  brokers.nodes.set(3, 'up');
  pass(300_001);
  await eventually(() => {
    assert.ok(asked(3) > before);
  });
});

test('a replica is asked for five minutes, and then the leader whether it still is the nearest', async (t) => {
  const pass = passTime(t);
  const { asked } = await readingNearby(t);
  assert.equal(asked(1), 1);
  pass(300_000);
  await eventually(() => {
    assert.equal(asked(1), 2);
  });
});
