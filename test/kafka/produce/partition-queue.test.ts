import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PartitionQueue } from '../../../src/kafka/produce/partition-queue.ts';
import { oldGarbageBytes } from '../../harness/old-garbage.ts';

test('a queue that never runs dry keeps nothing of what was taken', () => {
  const queue = new PartitionQueue('topic', 0);
  const push = (): void => {
    const value = new Array<number>(200).fill(queue.length);
    queue.push({ bytes: 1, mayWait: false, value } as unknown as Parameters<typeof queue.push>[0]);
  };
  push();
  const grown = oldGarbageBytes(() => {
    for (let n = 0; n < 500; n += 1) {
      push();
      assert.equal(queue.take(1, 1_000).records.length, 1);
    }
  });
  // All that came would be 40 MB.
  assert.ok(grown < 2_000_000, `${grown} bytes`);
});
