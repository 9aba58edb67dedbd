import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PartitionCounts } from '../../../src/kafka/produce/partition-counts.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';
import { kafkaError } from '../batches.ts';

function counting(countPartitions: (topic: string, ask: number) => number) {
  const counted: [string, number][] = [];
  const clock = new SimulatedClock();
  let asks = 0;
  const counts = new PartitionCounts({
    countPartitions: (topic) => {
      asks += 1;
      return new Promise((resolve) => {
        resolve(countPartitions(topic, asks));
      });
    },
    onCount: (topic, partitions) => counted.push([topic, partitions]),
    pause: () => Promise.resolve(true),
    log: silentLogger,
    clock,
  });
  return { counts, counted, clock, asks: () => asks };
}

test('a topic is asked about once, however many want to know', async () => {
  const { counts, asks } = counting(() => 12);
  assert.deepEqual(await Promise.all([counts.get('a'), counts.get('a')]), [12, 12]);
  assert.equal(await counts.get('a'), 12);
  assert.equal(asks(), 1);
});

test('a topic that is not there yet is asked about until it is', async () => {
  const { counts, counted } = counting((_, ask) => {
    if (ask < 10) throw kafkaError('UNKNOWN_TOPIC_OR_PARTITION');
    return 3;
  });
  assert.equal(await counts.get('a'), 3);
  assert.deepEqual(counted, [['a', 3]]);
});

test('a topic that grew is noticed within five minutes', async () => {
  const { counts, counted, clock } = counting((_, ask) => (ask === 1 ? 3 : 6));
  await counts.get('a');
  await clock.pass(300_000);
  assert.deepEqual(counted, [
    ['a', 3],
    ['a', 6],
  ]);
  assert.equal(await counts.get('a'), 6);
});

test('a count stays while Kafka cannot be asked again', async () => {
  const { counts, counted, clock } = counting((_, ask) => {
    if (ask === 2) throw kafkaError('LEADER_NOT_AVAILABLE');
    return 3;
  });
  await counts.get('a');
  await clock.pass(600_000);
  assert.deepEqual(counted, [['a', 3]]);
});
