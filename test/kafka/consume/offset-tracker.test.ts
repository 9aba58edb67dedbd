import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import {
  decodeCommitMetadata,
  encodeCommitMetadata,
  mostGaps,
} from '../../../src/kafka/consume/commit-metadata.ts';
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

test('of what lies before its position, a tracker says nothing', () => {
  const tracker = new OffsetTracker(7);
  tracker.finish(tracker.add(7, 1, 0) ?? NaN);
  assert.equal(tracker.finishedFrom(6), undefined);
  assert.deepEqual(tracker.finishedFrom(7), { upTo: 8, unfinished: new Set() });
  assert.equal(tracker.finishedFrom(8), undefined);
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

test('records in flight from before a time are counted, finished ones are not', () => {
  const tracker = new OffsetTracker(0);
  assert.equal(tracker.newestMs, undefined);
  const slots = [10, 20, 30].map((timeMs, offset) => tracker.add(offset, 1, timeMs) ?? NaN);
  assert.equal(tracker.newestMs, 30);
  assert.equal(tracker.inFlightBefore(30), 2);
  tracker.finish(slots[1] ?? NaN);
  assert.equal(tracker.inFlightBefore(30), 1);
  assert.equal(tracker.inFlightBefore(31), 2);
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

test('a record that is released is not in flight any more, and the finished prefix stops before it', () => {
  const tracker = new OffsetTracker(0);
  const [first, second] = [tracker.add(0, 5, 0) ?? NaN, tracker.add(1, 5, 0) ?? NaN];
  assert.equal(tracker.release(first), true);
  tracker.finish(second);
  assert.deepEqual([tracker.inFlight, tracker.inFlightBytes, tracker.finishedUpTo], [0, 0, 0]);
  assert.equal(tracker.finish(first), false);
  assert.equal(tracker.release(second), false);
});

test('what is finished behind an unfinished record is told to the next owner, who leaves it out', () => {
  const tracker = new OffsetTracker(10);
  const slots = [10, 11, 12, 13, 14].map((offset) => tracker.add(offset, 1, 0) ?? NaN);
  for (const index of [1, 2, 4]) tracker.finish(slots[index] ?? NaN);
  const ahead = tracker.finishedAhead(100);
  assert.deepEqual(ahead, { upTo: 15, unfinished: new Set([10, 13]) });
  const next = new OffsetTracker(tracker.finishedUpTo, ahead);
  const read = [10, 11, 12, 13, 14, 15].map((offset) => next.add(offset, 1, 0) !== undefined);
  assert.deepEqual(read, [true, false, false, true, false, true]);
});

test('where nothing is finished behind the prefix there is nothing to tell', () => {
  const tracker = new OffsetTracker(0);
  assert.equal(tracker.finishedAhead(100), undefined);
  const first = tracker.add(0, 1, 0) ?? NaN;
  tracker.add(1, 1, 0);
  tracker.finish(first);
  assert.equal(tracker.finishedAhead(100), undefined);
});

test('more gaps than may be told end what is told, and nothing unfinished passes for finished', () => {
  const tracker = new OffsetTracker(0);
  for (let offset = 0; offset < 10; offset += 1) {
    const slot = tracker.add(offset, 1, 0) ?? NaN;
    if (offset % 2 === 1) tracker.finish(slot);
  }
  assert.deepEqual(tracker.finishedAhead(2), { upTo: 4, unfinished: new Set([0, 2]) });
});

test('what a former owner finished is passed on by one who has not read that far', () => {
  const ahead = { upTo: 100, unfinished: new Set([0, 50]) };
  const second = new OffsetTracker(0, ahead);
  second.add(0, 1, 0);
  for (let offset = 1; offset < 10; offset += 1) second.add(offset, 1, 0);
  assert.deepEqual(second.finishedAhead(100), ahead);
});

test('what the log has lost needs no work, and what is written in its place does', () => {
  const tracker = new OffsetTracker(0, { upTo: 20, unfinished: new Set([0, 1, 2]) });
  const slots = [0, 1, 2].map((offset) => tracker.add(offset, 5, 0) ?? NaN);
  tracker.cutOff(1);
  assert.deepEqual([tracker.inFlight, tracker.inFlightBytes, tracker.next], [1, 5, 1]);
  tracker.finish(slots[0] ?? NaN);
  assert.equal(tracker.finishedUpTo, 1);
  assert.equal(tracker.finish(slots[2] ?? NaN), false);
  // Offset 4 is another record than the one that a former owner finished.
  for (const offset of [1, 2, 3, 4]) assert.notEqual(tracker.add(offset, 1, 0), undefined);
});

test('only what was taken and is finished counts as finished', () => {
  const tracker = new OffsetTracker(5);
  const slots = [5, 7, 9].map((offset) => tracker.add(offset, 1, 0) ?? NaN);
  tracker.finish(slots[1] ?? NaN);
  const finished = [4, 5, 6, 7, 8, 9, 10].filter((offset) => tracker.hasFinished(offset));
  assert.deepEqual(finished, [7]);
  tracker.finish(slots[0] ?? NaN);
  assert.deepEqual(
    [4, 5, 6, 7, 8, 9].filter((offset) => tracker.hasFinished(offset)),
    [5, 6, 7, 8],
  );
});

/** As plainly as it can be said. */
class NaiveTracker {
  readonly entries: { offset: number; state: 'in flight' | 'finished' | 'released' }[] = [];
  next: number;

  constructor(next: number) {
    this.next = next;
  }

  get finishedUpTo(): number {
    return this.entries.find(({ state }) => state !== 'finished')?.offset ?? this.next;
  }

  get inFlight(): number {
    return this.entries.filter(({ state }) => state === 'in flight').length;
  }

  cutOff(offset: number): void {
    for (const entry of this.entries) if (entry.offset >= offset) entry.state = 'finished';
    for (const entry of this.entries) entry.offset = Math.min(entry.offset, offset);
    this.next = Math.min(this.next, offset);
  }
}

const step = fc.record({
  kind: fc.constantFrom(
    ...(['add', 'add', 'add', 'skip', 'finish', 'finish', 'release', 'cutOff', 'passOn'] as const),
  ),
  by: fc.nat(9),
});
const steps = fc.array(step, { maxLength: 1_000, size: 'max' });

/**
 * One owner after the other of one partition: each reads on where the former one committed. `mostGaps`: how
 * much of what is finished ahead a commit tells.
 */
function own(kinds: readonly { kind: string; by: number }[], mostGaps: number) {
  let tracker = new OffsetTracker(0);
  let naive = new NaiveTracker(0);
  let slots: number[] = [];
  const finished = new Set<number>();
  const holes = new Set<number>();
  let repeated = 0;
  for (const { kind, by } of kinds) {
    const open = naive.entries.flatMap(({ state }, i) => (state === 'in flight' ? [i] : []));
    const chosen = open[by % Math.max(1, open.length)] ?? NaN;
    if (kind === 'add' || kind === 'skip') {
      const offset = naive.next;
      if (kind === 'skip') holes.add(offset);
      const isHole = holes.has(offset);
      const slot = isHole ? undefined : tracker.add(offset, 1, 0);
      if (isHole) tracker.skipTo(offset + 1);
      else if (slot === undefined) assert.ok(finished.has(offset), `${offset} was left out`);
      else {
        if (finished.has(offset)) repeated += 1;
        naive.entries.push({ offset, state: 'in flight' });
        slots.push(slot);
      }
      naive.next = offset + 1;
    } else if (kind === 'finish' || kind === 'release') {
      const entry = naive.entries[chosen];
      const isFinished = kind === 'finish';
      if (entry === undefined) continue;
      assert.ok(tracker[kind](slots[chosen] ?? NaN));
      entry.state = isFinished ? 'finished' : 'released';
      if (isFinished) finished.add(entry.offset);
    } else if (kind === 'cutOff') {
      const offset = Math.max(0, naive.next - by);
      tracker.cutOff(offset);
      naive.cutOff(offset);
      // What comes there is something else.
      for (const each of [...finished, ...holes]) {
        if (each < offset) continue;
        finished.delete(each);
        holes.delete(each);
      }
    } else {
      const committed = tracker.finishedUpTo;
      const metadata = encodeCommitMetadata(committed, {
        epoch: 0,
        ahead: tracker.finishedAhead(mostGaps),
        topicId: undefined,
      });
      tracker = new OffsetTracker(committed, decodeCommitMetadata(committed, metadata).ahead);
      naive = new NaiveTracker(committed);
      slots = [];
    }
    assert.deepEqual(
      [tracker.next, tracker.inFlight, tracker.inFlightBytes, tracker.finishedUpTo],
      [naive.next, naive.inFlight, naive.inFlight, naive.finishedUpTo],
    );
  }
  return { repeated };
}

test('in any order of work and of owners, exactly what precedes the oldest unfinished record is finished, and nothing unfinished is left out', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 5 }), (kinds, mostGaps) => {
      own(kinds, mostGaps);
    }),
    { numRuns: 300 },
  );
});

test('where commits may tell everything, no owner repeats what a former one finished', () => {
  const whole = steps.map((kinds) => kinds.filter(({ kind }) => kind !== 'cutOff'));
  fc.assert(
    fc.property(whole, (kinds) => {
      assert.equal(own(kinds, mostGaps).repeated, 0);
    }),
    { numRuns: 300 },
  );
});
