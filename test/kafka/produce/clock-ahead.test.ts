import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provenAheadMs } from '../../../src/kafka/produce/sender.ts';

test('clocks may agree where the record was appended while its answer was awaited', () => {
  for (const appendedMs of [1_000, 1_005, 1_010])
    assert.equal(provenAheadMs(appendedMs, 1_000, 1_010), 0);
});

test('a record that was appended before it was sent shows a clock that is ahead, by so much at least', () => {
  assert.equal(provenAheadMs(1_000, 301_000, 301_010), 300_000);
});

test('a record that was appended after its answer came shows a clock that is behind', () => {
  assert.equal(provenAheadMs(301_000, 1_000, 1_010), -299_990);
});
