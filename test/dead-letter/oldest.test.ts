import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { OldestLetters } from '../../src/dead-letter/oldest.ts';
import { rejectedLetter } from './letters.ts';
import type { RejectedCall } from '../../src/dead-letter/rejected.ts';

function letterAt(partition: number, offset: number, timestampMs: number): RejectedCall {
  const letter = rejectedLetter();
  return { ...letter, record: { ...letter.record, partition, offset, timestampMs } };
}

/** Each partition in its order, and the partitions as `turns` says: as fetches bring them. */
function interleaved(partitions: readonly RejectedCall[][], turns: readonly number[]) {
  const rest = partitions.map((letters) => [...letters]);
  const taken = turns.flatMap((turn) => rest[turn % rest.length]?.splice(0, 2) ?? []);
  return [...taken, ...rest.flat()];
}

function oldestOf(all: readonly RejectedCall[], limit: number) {
  const oldest = new OldestLetters<RejectedCall>(limit, [0, 1, 2]);
  let read = 0;
  for (const letter of all) {
    if (oldest.isComplete) break;
    read += 1;
    if (oldest.mayHold(letter.record)) oldest.add(letter);
  }
  const { letters, more } = oldest.result();
  return { places: letters.map(({ record }) => [record.partition, record.offset]), more, read };
}

describe('the oldest letters', () => {
  test('are the same ones, in the same order, whichever way the partitions come', () => {
    const times = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 30 });
    fc.assert(
      fc.property(
        fc.tuple(times, times, times),
        fc.array(fc.nat(2)),
        fc.integer({ min: 1, max: 12 }),
        (timesOf, turns, limit) => {
          const partitions = timesOf.map((ofOne, partition) =>
            ofOne.toSorted((a, b) => a - b).map((time, i) => letterAt(partition, i, time)),
          );
          const all = partitions.flat();
          const expected = all
            .map(({ record }) => [record.timestampMs, record.partition, record.offset] as const)
            .sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
            .slice(0, limit)
            .map(([, partition, offset]) => [partition, offset]);
          const { places, more } = oldestOf(interleaved(partitions, turns), limit);
          assert.deepEqual(places, expected);
          assert.equal(more, all.length > limit);
        },
      ),
    );
  });

  test('are known before everything is read, once each partition has come to a later one', () => {
    const partitions = [0, 1, 2].map((partition) =>
      Array.from({ length: 1_000 }, (_, i) => letterAt(partition, i, i)),
    );
    const turns = Array.from({ length: 1_500 }, (_, i) => i);
    const { places, read } = oldestOf(interleaved(partitions, turns), 4);
    assert.deepEqual(places, [
      [0, 0],
      [1, 0],
      [2, 0],
      [0, 1],
    ]);
    assert.ok(read < 30, `${read} read`);
  });
});
