import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FlushPace } from '../../../src/kafka/produce/flush-pace.ts';

test('the first record after a quiet time does not wait', () => {
  const pace = new FlushPace();
  assert.equal(pace.waitMs(0), 0);
  pace.flushed(0, 12);
  assert.equal(pace.waitMs(100), 0);
});

test('the wait grows with the partitions of the last flush', () => {
  const wait = (partitions: number): number => {
    const pace = new FlushPace();
    pace.flushed(0, partitions);
    return pace.waitMs(0);
  };
  assert.ok(wait(1) < 3);
  assert.ok(wait(12) > 6 && wait(12) < 10);
});

test('a clock that is set back keeps no record waiting', () => {
  const pace = new FlushPace();
  pace.flushed(3_600_000, 12);
  assert.ok(pace.waitMs(0) <= 25);
});

test('no record waits longer than 25 ms, whatever was flushed before', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(50), fc.nat(500))), (flushes) => {
      const pace = new FlushPace();
      let now = 0;
      for (const [gap, partitions] of flushes) {
        now += gap;
        pace.flushed(now, partitions);
        assert.ok(pace.waitMs(now) <= 25);
      }
    }),
  );
});
