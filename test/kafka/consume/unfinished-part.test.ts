import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UnfinishedPart } from '../../../src/kafka/consume/unfinished-part.ts';

function offsetsOf(part: UnfinishedPart): number[] {
  return Array.from({ length: 20 }, (_, offset) => offset).filter((offset) => part.has(offset));
}

describe('what a group has not finished of a partition', () => {
  test('is all from the committed offset on where nothing is said of gaps', () => {
    const part = new UnfinishedPart({ partition: 0, start: 3, end: 7 }, undefined);
    assert.deepEqual(offsetsOf(part), [3, 4, 5, 6]);
    assert.equal(part.count, 4);
  });

  test('leaves out what is finished ahead', () => {
    const ahead = { upTo: 10, unfinished: new Set([2, 4, 8]) };
    const part = new UnfinishedPart({ partition: 0, start: 3, end: 12 }, ahead);
    assert.deepEqual(offsetsOf(part), [4, 8, 10, 11]);
    assert.equal(part.count, 4);
  });

  test('is nothing where the log ends before the committed offset', () => {
    for (const ahead of [undefined, { upTo: 9, unfinished: new Set([8]) }])
      assert.equal(new UnfinishedPart({ partition: 0, start: 7, end: 5 }, ahead).count, 0);
  });
});
