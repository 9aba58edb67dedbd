import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountFor, amountIn, writtenFor } from './cells.ts';

const whole = { warmUpEvents: 10_000, events: 20_000 };
const amount = (isSequential: boolean, afterMs: number, closes: boolean = false): object =>
  amountFor({ isSequential }, { afterMs, closes }, whole);

test('all get the same events, fewer where each takes long or needs a connection', () => {
  assert.deepEqual(amount(false, 0), whole);
  assert.deepEqual(amount(false, 20), whole);
  assert.deepEqual(amount(false, 500), { warmUpEvents: 5_000, events: 10_000 });
  assert.deepEqual(amount(false, 0, true), { warmUpEvents: 1_000, events: 2_000 });
});

test('who makes one request at a time is not waited for where latency is its limit', () => {
  assert.deepEqual(amount(true, 0), whole);
  assert.deepEqual(amount(true, 20), { warmUpEvents: 100, events: 200 });
  assert.deepEqual(amount(true, 500), { warmUpEvents: 4, events: 8 });
});

test('in batches, all get ten times as many events, and some more are there to fill the last batch', () => {
  assert.deepEqual(amountIn({}, whole), whole);
  assert.equal(writtenFor({}, whole), 30_000);
  assert.deepEqual(amountIn({ batchOf: 100 }, whole), { warmUpEvents: 100_000, events: 200_000 });
  assert.equal(writtenFor({ batchOf: 100 }, whole), 330_000);
});
