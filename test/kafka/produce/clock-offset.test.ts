import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClockOffset } from '../../../src/kafka/produce/clock-offset.ts';

function aheadMs(appendedMs: number, sentMs: number, answeredMs: number): number {
  const offset = new ClockOffset();
  offset.answered(appendedMs, sentMs, answeredMs);
  return offset.aheadMs;
}

test('clocks may agree where the record was appended while its answer was awaited', () => {
  for (const appendedMs of [1_000, 1_005, 1_010])
    assert.equal(aheadMs(appendedMs, 1_000, 1_010), 0);
});

test('a record that was appended before it was sent shows a clock that is ahead, by so much at least', () => {
  assert.equal(aheadMs(1_000, 301_000, 301_010), 300_000);
});

test('a record that was appended after its answer came shows a clock that is behind', () => {
  assert.equal(aheadMs(301_000, 1_000, 1_010), -299_990);
});

test('the last answer counts', () => {
  const offset = new ClockOffset();
  offset.answered(0, 5_000, 5_001);
  offset.answered(6_000, 6_000, 6_001);
  assert.equal(offset.aheadMs, 0);
});
