import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/ops/clock.ts';

test('both times are whole milliseconds, which is what an envelope can carry', () => {
  for (const timeMs of [systemClock.now(), systemClock.steadyNow()])
    assert.ok(Number.isSafeInteger(timeMs), String(timeMs));
});
