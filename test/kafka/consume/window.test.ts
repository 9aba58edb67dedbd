import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  hasRoom,
  IntakeBudget,
  mustPause,
  shareWith,
  type Holding,
  type WindowLimits,
} from '../../../src/kafka/consume/window.ts';
import fc from '../../harness/fast-check.ts';
import { LoopScene, topic, until, valuesOf } from './loop-scene.ts';

const limits = { records: 100, bytes: 1_000 };
const load = (inFlight: number, inFlightBytes = 0, span = inFlight) => ({
  inFlight,
  inFlightBytes,
  aside: 0,
  asideBytes: 0,
  span,
});

test('intake pauses at the limit of records and resumes at half of it', () => {
  assert.equal(mustPause(false, load(99), limits, 1), false);
  assert.equal(mustPause(false, load(100), limits, 1), true);
  assert.equal(mustPause(true, load(51), limits, 1), true);
  assert.equal(mustPause(true, load(50), limits, 1), false);
});

test('intake pauses at the limit of bytes and resumes at half of it', () => {
  assert.equal(mustPause(false, load(1, 999), limits, 1), false);
  assert.equal(mustPause(false, load(1, 1_000), limits, 1), true);
  assert.equal(mustPause(true, load(1, 501), limits, 1), true);
  assert.equal(mustPause(true, load(1, 500), limits, 1), false);
});

test('what was set aside takes no room, and still cannot be passed without end', () => {
  const aside = { aside: 90, asideBytes: 900 };
  assert.equal(mustPause(false, { ...load(189, 1_899), ...aside }, limits, 1), false);
  assert.equal(mustPause(false, { ...load(190, 1_000), ...aside }, limits, 1), true);
  assert.equal(mustPause(false, { ...load(100, 1_900), ...aside }, limits, 1), true);
  assert.equal(mustPause(false, { ...load(90, 900, 6_400), ...aside }, limits, 1), true);
});

test('a window of one record resumes when it is empty', () => {
  assert.equal(mustPause(true, load(1), { records: 1, bytes: 1_000 }, 1), true);
  assert.equal(mustPause(true, load(0), { records: 1, bytes: 1_000 }, 1), false);
});

test('one record that is never finished lets sixty-four windows pass, then stops its partition', () => {
  assert.equal(mustPause(false, load(1, 1, 6_399), limits, 1), false);
  assert.equal(mustPause(false, load(1, 1, 6_400), limits, 1), true);
});

test('a full window that has been worked off resumes, however far it has passed an unfinished record', () => {
  assert.equal(mustPause(true, load(1, 1, 6_300), limits, 1), false);
  assert.equal(mustPause(true, load(51, 1, 6_300), limits, 1), true);
  assert.equal(mustPause(true, load(1, 1, 6_301), limits, 1), true);
});

const budget = { records: 49_152, bytes: 128 * 1024 * 1024 };
const fresh = { records: 1_024, bytes: 4 * 1024 * 1024 };
const retry = { records: 256, bytes: 512 * 1024 };

/** A partition with more to read than ever fits in. */
class Backlog implements Holding {
  inFlight = 0;
  inFlightBytes = 0;
  readonly aside = 0;
  readonly asideBytes = 0;
  readonly limits: WindowLimits;
  readonly #recordBytes: number;

  constructor(limits: WindowLimits, recordBytes: number) {
    this.limits = limits;
    this.#recordBytes = recordBytes;
  }

  /** As `OwnedPartition.accept` does: a piece at a time. Returns false if there was no room. */
  take(share: number): boolean {
    const before = this.inFlight;
    for (let n = 0; n < 128 && hasRoom(this, this.limits, share); n += 1) {
      this.inFlight += 1;
      this.inFlightBytes += this.#recordBytes;
    }
    return this.inFlight > before;
  }

  finish(records: number): void {
    const finished = Math.min(records, this.inFlight);
    this.inFlight -= finished;
    this.inFlightBytes -= finished * this.#recordBytes;
  }
}

/** Whoever is first takes all that it may, then the next. */
function fillInTurn(shared: IntakeBudget, partitions: readonly Backlog[]): void {
  for (const partition of partitions) while (partition.take(shared.share));
}

/** Each takes a piece, and then the first again. */
function fillTogether(shared: IntakeBudget, partitions: readonly Backlog[]): void {
  let left = partitions;
  while (left.length > 0) left = left.filter((partition) => partition.take(shared.share));
}

function backlogs(
  shared: IntakeBudget,
  count: number,
  limits: WindowLimits,
  recordBytes = 600,
): Backlog[] {
  return Array.from({ length: count }, () => {
    const partition = new Backlog(limits, recordBytes);
    shared.join(partition);
    return partition;
  });
}

function sumOf(partitions: readonly Backlog[]): WindowLimits {
  return {
    records: partitions.reduce((sum, { inFlight }) => sum + inFlight, 0),
    bytes: partitions.reduce((sum, { inFlightBytes }) => sum + inFlightBytes, 0),
  };
}

describe('what partitions may have in flight together', () => {
  test('is their own part, and more while there is some for all', () => {
    assert.deepEqual(
      [0, 0.5, 0.75, 1, 1.5].map((taken) => shareWith(0.25, taken)),
      [1, 1, 0.625, 0.25, 0.25],
    );
  });

  test('fills the windows of a worker with twelve partition numbers and six tiers', () => {
    const shared = new IntakeBudget(budget);
    const all = [...backlogs(shared, 12, fresh), ...backlogs(shared, 72, retry)];
    fillTogether(shared, all);
    for (const { inFlight, limits } of all) assert.equal(inFlight, limits.records);
  });

  test('stays within the budget, however many there are, whatever they bring, and whoever comes first', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 1, max: 40_000 }),
        fc.constantFrom(fillInTurn, fillTogether),
        (freshCount, retryCount, recordBytes, fill) => {
          const shared = new IntakeBudget(budget);
          const all = [
            ...backlogs(shared, freshCount, fresh, recordBytes),
            ...backlogs(shared, retryCount, retry, recordBytes),
          ];
          fill(shared, all);
          const { records, bytes } = sumOf(all);
          // A piece is taken by the share that there was before it, and a window may be exceeded by one record.
          assert.ok(records <= budget.records + 128 + all.length, `${records} records`);
          assert.ok(bytes <= budget.bytes + (128 + all.length) * recordBytes, `${bytes} bytes`);
          const least = shared.ownShare * Math.min(fresh.records, fresh.bytes / recordBytes);
          for (const { inFlight } of all.slice(0, freshCount)) assert.ok(inFlight >= least);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('is for one that comes last what others can never hold, and all of its window once they are done', () => {
    const shared = new IntakeBudget(budget);
    const others = backlogs(shared, 360, fresh);
    const [late] = backlogs(shared, 1, fresh);
    fillInTurn(shared, others);
    assert.equal(others[0]?.inFlight, 1_024);
    assert.ok(late !== undefined);
    late.take(shared.share);
    assert.ok(late.inFlight >= 45, `${late.inFlight} records`);
    for (const other of others.slice(0, 300)) other.finish(1_024);
    fillTogether(shared, [late]);
    assert.equal(late.inFlight, 1_024);
  });

  test('counts nothing of a partition that was lost', () => {
    const shared = new IntakeBudget(budget);
    const lost = backlogs(shared, 360, fresh);
    fillInTurn(shared, lost);
    for (const partition of [...lost, ...lost]) shared.leave(partition);
    assert.equal(shared.share, 1);
  });
});

test('what fetches bring is at most half of the budget, and never so little that reading takes long', () => {
  const shared = new IntakeBudget(budget);
  const bytesWith = (more: number): number => {
    backlogs(shared, more, fresh);
    return shared.fetchBytes(256 * 1024);
  };
  assert.deepEqual(
    [bytesWith(84), bytesWith(940), bytesWith(9_000)],
    [256 * 1024, 64 * 1024, 16 * 1024],
  );
});

test('a partition is read to its end while a backlog that nobody works off takes up the budget', async (t) => {
  const scene = new LoopScene(t, 4);
  const [quiet] = scene.brokers.makeTopic('quiet', 1);
  const shared = new IntakeBudget({ records: 256, bytes: 1_000_000 });
  const values = Array.from({ length: 500 }, (_, n) => String(n));
  for (const log of [...scene.logs, quiet]) log?.append(...values);
  const stuck = await scene.joined({ windowRecords: 512, budget: shared });
  await until(() => {
    assert.ok(stuck.loop.inFlightRecords > 150, `${stuck.loop.inFlightRecords} records`);
  });
  const other = await scene.joined({
    groupId: 'other',
    topics: ['quiet'],
    windowRecords: 512,
    budget: shared,
  });
  other.finishes = true;
  other.finishAll();
  await until(() => {
    assert.equal(valuesOf(other, 0), values.join(' '));
  });
  assert.ok(stuck.received.length <= 256 + 128, `${stuck.received.length} records`);
  // What goes on is not lost: everything comes once there is room.
  stuck.finishes = true;
  stuck.finishAll();
  await until(() => {
    assert.equal(stuck.received.filter((record) => record.topic === topic).length, 4 * 500);
  });
});
