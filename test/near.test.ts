import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintAmong } from '../src/near.ts';

test('of thousands of names, some are told, and how many more there are', () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `customer-${index}`);
  const hint = hintAmong('custmer-4999', names, 'known are');
  assert.match(
    hint,
    /^; did you mean customer-4999\? Known are: customer-0, customer-1, .*, and 4950 more$/,
  );
  assert.ok(hint.length < 1_000);
});
