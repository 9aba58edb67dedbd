import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figuresOf, Ledger, longestSilenceMs, whileAccepting } from './ledger.ts';

function ledgerOf(
  calls: readonly { acceptedMs?: number; deliveredMs: readonly number[] }[],
): Ledger {
  const ledger = new Ledger();
  for (const [n, { acceptedMs, deliveredMs }] of calls.entries()) {
    ledger.sent(`c${n}`, 'user');
    if (acceptedMs !== undefined) ledger.accepted([`c${n}`], acceptedMs);
    for (const atMs of deliveredMs) ledger.delivered(`c${n}`, atMs);
  }
  return ledger;
}

test('an accepted call that never arrives is lost, one that arrives twice is repeated', () => {
  const { calls } = ledgerOf([
    { acceptedMs: 0, deliveredMs: [5] },
    { acceptedMs: 1, deliveredMs: [6, 7, 8] },
    { acceptedMs: 2, deliveredMs: [] },
    { deliveredMs: [9, 9] },
    { deliveredMs: [] },
  ]);
  const { accepted, delivered, lost, repeated, extra } = figuresOf(calls);
  assert.deepEqual([accepted, delivered, lost, repeated, extra], [3, 2, 1, 2, 3]);
});

test('a silence is a time in which something waits and nothing arrives', () => {
  const waits = ledgerOf([
    { acceptedMs: 0, deliveredMs: [10] },
    { acceptedMs: 20, deliveredMs: [320] },
    { acceptedMs: 40, deliveredMs: [300] },
  ]);
  assert.equal(longestSilenceMs(waits.calls), 280);
});

test('a time in which nothing waits is no silence', () => {
  const idle = ledgerOf([
    { acceptedMs: 0, deliveredMs: [10] },
    { acceptedMs: 5_000, deliveredMs: [5_020] },
  ]);
  assert.equal(longestSilenceMs(idle.calls), 20);
});

test('a clock that stands still while nothing is accepted leaves out what stops everything, and nothing else', () => {
  const { calls } = ledgerOf([
    { acceptedMs: 0, deliveredMs: [10] },
    // All stands still from 100 to 1,100, and the first event comes out late.
    { acceptedMs: 100, deliveredMs: [1_160] },
    { acceptedMs: 1_100, deliveredMs: [1_170] },
    { acceptedMs: 1_200, deliveredMs: [1_300] },
  ]);
  assert.equal(longestSilenceMs(calls), 1_060);
  assert.equal(longestSilenceMs(whileAccepting(calls, 200)), 260);
  assert.equal(longestSilenceMs(whileAccepting(calls, 1_000)), 1_060);
});

test('a repeated delivery ends a silence too', () => {
  const repeats = ledgerOf([
    { acceptedMs: 0, deliveredMs: [10, 100] },
    { acceptedMs: 10, deliveredMs: [160] },
  ]);
  assert.equal(longestSilenceMs(repeats.calls), 90);
});

test('an event that is there before the answer to its call has waited for no time', () => {
  const { calls } = ledgerOf([{ acceptedMs: 20, deliveredMs: [10] }]);
  assert.equal(figuresOf(calls).p99Ms, 0);
  assert.equal(longestSilenceMs(calls), 0);
});
