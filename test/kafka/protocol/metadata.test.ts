import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteWriter } from '../../../src/kafka/protocol/byte-writer.ts';
import { metadataExchange } from '../../../src/kafka/protocol/metadata.ts';

const exchange = metadataExchange([]);

/** An answer about one topic with partitions of these numbers, each with a leader of that number too. */
function answer(partitions: readonly number[]): Buffer {
  const writer = new ByteWriter(64).noTags().int32(0);
  writer.compactArray([], () => undefined);
  writer.compactString('cluster').int32(1);
  writer.compactArray(['t'], (name) => {
    writer.int16(0).compactString(name).uuid('ab'.repeat(16)).boolean(false);
    writer.compactArray(partitions, (partition) => {
      writer.int16(0).int32(partition).int32(partition).int32(5);
      for (const nodeIds of [[1, 2, 3], [1, 3], [2]])
        writer.compactArray(nodeIds, (nodeId) => writer.int32(nodeId));
      writer.noTags();
    });
    writer.int32(0).noTags();
  });
  return writer.noTags().buffer;
}

test('partitions stand at their own numbers, in whatever order they come', () => {
  const [topic] = exchange.decode(answer([2, 0, 1])).topics;
  assert.deepEqual(
    topic?.partitions.map(({ leader }) => leader),
    [0, 1, 2],
  );
});

test('a partition has its leader, the epoch of that, and the replicas in sync', () => {
  const [topic] = exchange.decode(answer([0])).topics;
  assert.deepEqual(topic?.partitions, [{ leader: 0, epoch: 5, inSync: [1, 3] }]);
});

test('a number that no partition of the topic can have makes no list of that length', () => {
  for (const partition of [-1, 2, 0x7fffffff])
    assert.throws(() => exchange.decode(answer([0, partition])), {
      name: 'RangeError',
      message: `a topic of 2 partitions has one with the number ${partition}`,
    });
});
