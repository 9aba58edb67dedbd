import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { formatRate, parseRate } from '../../../src/resources/schema/texts.ts';

test('every rate is spelled so that it is read as the same rate', () => {
  const counts = fc.integer({ min: 1, max: 999_999_999 });
  fc.assert(
    fc.property(counts, fc.constantFrom('s', 'm', 'h'), (count, unit) => {
      const perSecond = parseRate(`${count}/${unit}`);
      assert.ok(perSecond !== undefined && perSecond > 0);
      assert.equal(parseRate(formatRate(perSecond)), perSecond);
    }),
  );
});

test('the shortest spelling wins', () => {
  assert.equal(formatRate(100), '100/s');
  assert.equal(formatRate(0.5), '30/m');
  assert.equal(formatRate(100 / 3600), '100/h');
  assert.equal(formatRate(1 / 60), '1/m');
});
