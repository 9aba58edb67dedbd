import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { isoTime, isoTimeMs } from '../../src/event/iso-time.ts';

const [firstMs, lastMs] = [
  Date.parse('0000-01-01T00:00:00.000Z'),
  Date.parse('9999-12-31T23:59:59.999Z'),
];

test('times become what Date makes of them, and texts become times again', () => {
  // Many of one day and of one second, as in a batch, and some before 1970.
  const anyTime = fc.oneof(
    fc.integer({ min: firstMs, max: lastMs }),
    fc.integer({ min: -86_400_000, max: 86_400_000 }),
    fc.integer({ min: -2_000, max: 2_000 }),
    fc.constantFrom(firstMs, lastMs, -1, 0),
  );
  fc.assert(
    fc.property(fc.array(anyTime, { minLength: 1 }), (times) => {
      for (const timeMs of times) {
        assert.equal(isoTime(timeMs), new Date(timeMs).toISOString());
        assert.equal(isoTimeMs(isoTime(timeMs)), timeMs);
      }
    }),
  );
});
