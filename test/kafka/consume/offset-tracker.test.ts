import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { OffsetTracker } from '../../../src/kafka/consume/offset-tracker.ts';

test('a fresh tracker has finished everything before its position', () => {
  const tracker = new OffsetTracker(7);
  assert.equal(tracker.next, 7);
  assert.equal(tracker.finishedUpTo, 7);
});

test('the finished prefix stops at the oldest record in flight', () => {
  const tracker = new OffsetTracker(0);
  const slots = [0, 1, 2].map((offset) => tracker.add(offset, 10, 0) ?? NaN);
  tracker.finish(slots[1] ?? NaN);
  tracker.finish(slots[2] ?? NaN);
  assert.equal(tracker.finishedUpTo, 0);
  assert.equal(tracker.inFlightBytes, 10);
  tracker.finish(slots[0] ?? NaN);
  assert.equal(tracker.finishedUpTo, 3);
});

test('a hole between records is finished with the record before it', () => {
  const tracker = new OffsetTracker(0);
  const first = tracker.add(0, 1, 0) ?? NaN;
  tracker.add(9, 1, 0);
  tracker.finish(first);
  assert.equal(tracker.finishedUpTo, 9);
});

test('markers after the last record are finished once it is', () => {
  const tracker = new OffsetTracker(0);
  const slot = tracker.add(0, 1, 0) ?? NaN;
  tracker.skipTo(4);
  assert.equal(tracker.finishedUpTo, 0);
  tracker.finish(slot);
  assert.equal(tracker.finishedUpTo, 4);
});

test('finishing a record twice counts once', () => {
  const tracker = new OffsetTracker(0);
  const [first, second] = [tracker.add(0, 5, 0) ?? NaN, tracker.add(1, 5, 0) ?? NaN];
  tracker.add(2, 5, 0);
  for (const slot of [second, first]) {
    assert.equal(tracker.finish(slot), true);
    assert.equal(tracker.finish(slot), false);
  }
  assert.equal(tracker.inFlight, 1);
  assert.equal(tracker.inFlightBytes, 5);
});

test('what was finished stays finished when more records are in flight than ever before', () => {
  const tracker = new OffsetTracker(0);
  const slots = Array.from({ length: 200 }, (_, offset) => tracker.add(offset, 1, 0) ?? NaN);
  for (const slot of slots.slice(50)) tracker.finish(slot);
  for (let offset = 200; offset < 2_000; offset += 1) tracker.add(offset, 1, 0);
  for (const slot of slots.slice(0, 50)) tracker.finish(slot);
  assert.equal(tracker.finishedUpTo, 200);
  assert.equal(tracker.inFlight, 1_800);
});

test('the oldest record in flight is the one that holds the finished prefix up', () => {
  const tracker = new OffsetTracker(0);
  assert.equal(tracker.oldestMs, undefined);
  const slots = Array.from({ length: 600 }, (_, offset) => tracker.add(offset, 1, 1_000 + offset));
  tracker.finish(slots[1] ?? NaN);
  assert.equal(tracker.oldestMs, 1_000);
  tracker.finish(slots[0] ?? NaN);
  assert.equal(tracker.oldestMs, 1_002);
  for (const slot of slots) tracker.finish(slot ?? NaN);
  assert.equal(tracker.oldestMs, undefined);
});

test('an offset that was accepted before is not accepted again', () => {
  const tracker = new OffsetTracker(3);
  assert.equal(tracker.add(2, 1, 0), undefined);
  tracker.add(3, 1, 0);
  assert.equal(tracker.add(3, 1, 0), undefined);
});

/** A number to add: after a gap; to skip: a gap alone; to finish: which of those in flight. */
const step = fc.record({
  kind: fc.constantFrom('add', 'add', 'skip', 'finish', 'finish'),
  by: fc.nat(9),
});

test('in any order of work, exactly what precedes the oldest unfinished record is finished', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 2_000, size: 'max' }), (steps) => {
      const tracker = new OffsetTracker(0);
      const inFlight = new Map<number, number>();
      let next = 0;
      for (const { kind, by } of steps) {
        if (kind === 'finish') {
          const slot = [...inFlight.keys()].at(by % (inFlight.size || 1));
          if (slot === undefined) continue;
          tracker.finish(slot);
          inFlight.delete(slot);
        } else {
          next += by % 4;
          if (kind === 'skip') tracker.skipTo(next);
          else inFlight.set(tracker.add(next, 1, 0) ?? NaN, next++);
        }
        assert.equal(tracker.next, next);
        assert.equal(tracker.inFlight, inFlight.size);
        assert.equal(tracker.finishedUpTo, Math.min(next, ...inFlight.values()));
      }
    }),
    { numRuns: 200 },
  );
});
