import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { usualTurnMs } from '../../../src/delivery/lane/odd-one-out.ts';

describe('the usual time until a turn', () => {
  const usualOf = (...turnsMs: number[]): number =>
    usualTurnMs(turnsMs.map((longestTurnMs) => ({ isServed: true, longestTurnMs })));

  test('is that of the lanes that are least behind, in whatever order they are', () => {
    assert.equal(usualOf(9_000, 8_000, 20, 10), 20);
    assert.equal(usualOf(10, 20, 8_000, 9_000), 20);
    assert.equal(usualOf(9_000, 10, 8_000), 10);
  });
});
