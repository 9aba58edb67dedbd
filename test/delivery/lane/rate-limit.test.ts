import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { burstMs, LaneRate, RateLimit } from '../../../src/delivery/lane/rate-limit.ts';
import {
  noIndexes,
  WorkShares,
  type OwnedIndexes,
} from '../../../src/delivery/lane/work-shares.ts';
import { partitionOf } from '../../../src/kafka/produce/partitioner.ts';
import { exampleDestination } from '../../resources/examples.ts';
import { seededRandom, SimulatedClock } from '../simulated-clock.ts';

const start = Date.UTC(2026, 0, 1);

describe('a rate limit', () => {
  test('lets through at most its rate and its burst in any span of time', () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0.001, max: 500, noNaN: true }), (seed, perSecond) => {
        const random = seededRandom(seed);
        const limit = new RateLimit(perSecond, start);
        const taken: number[] = [];
        let nowMs = start;
        while (taken.length < 200) {
          // Asks now and then long after, and now and then at once.
          nowMs += limit.waitMs(nowMs) * (random() < 0.8 ? 1 : 3 * random());
          if (limit.waitMs(nowMs) > 0) continue;
          limit.take(nowMs, false);
          taken.push(nowMs);
        }
        assertLimited(taken, perSecond);
      }),
      { numRuns: 60 },
    );
  });

  test('that goes from worker to worker lets through no more for it', () => {
    const moves = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 2 });
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(1, 20, 300), moves, (seed, perSecond, dealt) => {
        const random = seededRandom(seed);
        const taken: number[] = [];
        let nowMs = start;
        for (const steps of dealt) {
          const limit = new RateLimit(perSecond, nowMs);
          for (let step = 0; step < steps; step++) {
            nowMs += 1 + Math.floor(random() * 10);
            while (random() < 0.9 && limit.waitMs(nowMs) === 0) {
              limit.take(nowMs, false);
              taken.push(nowMs);
            }
          }
        }
        assertLimited(taken, perSecond);
      }),
      { numRuns: 60 },
    );
  });

  test('does not give out again what was used up before it changed', () => {
    const limit = new RateLimit(1, start - 10_000);
    limit.take(start, false);
    limit.change(0.5, start);
    assert.equal(limit.waitMs(start), 2_000 - burstMs);
    limit.change(1, start);
    assert.equal(limit.waitMs(start), 1_000 - burstMs);
  });

  test('of a worker that has just got it starts with nothing saved up', () => {
    assert.equal(new RateLimit(0.5, start).waitMs(start), 2_000);
    assert.equal(new RateLimit(0.5, start - 5_000).waitMs(start), 0);
  });

  test('promises each event that is put off a later turn', () => {
    const limit = new RateLimit(1, start - 10_000);
    limit.take(start, false);
    const reserve = (nowMs: number, waitMs: number): number => {
      const turnMs = limit.turnMs(nowMs, waitMs);
      limit.reserve(nowMs, turnMs);
      return turnMs;
    };
    const turns = [1, 2, 3].map(() => reserve(start, limit.waitBehindMs(2, start)));
    assert.deepEqual(turns, [2_900, 3_900, 4_900]);
    // One that goes before them takes a turn away; one that comes back for its own does not.
    limit.take(start + 1_000, false);
    assert.equal(reserve(start + 1_000, 0), 5_900);
    limit.take(start + 2_000, true);
    assert.equal(reserve(start + 2_000, 0), 5_900);
  });
});

function assertLimited(takenMs: readonly number[], perSecond: number): void {
  takenMs.forEach((fromMs, from) => {
    for (let to = from; to < takenMs.length; to++) {
      const spanMs = (takenMs[to] ?? 0) - fromMs;
      const allowed = 1 + (perSecond * (spanMs + burstMs)) / 1_000;
      assert.ok(to - from + 1 <= allowed + 1e-3, `${to - from + 1} in ${spanMs} ms`);
    }
  });
}

test('a lane whose limit may be its own holds everything back until that is known', () => {
  const clock = new SimulatedClock();
  const shares = new WorkShares();
  const rate = new LaneRate({ clock, shares, onReady: () => undefined });
  const destination = exampleDestination({ rateLimit: '100/s' });
  const owned = { indexes: new Set([0]), count: undefined };
  shares.set(owned, clock.steadyNow());
  rate.update(destination);
  assert.deepEqual([rate.isReady, rate.isElsewhere, rate.waitBehindMs(50)], [false, false, 0]);
  shares.set({ ...owned, count: 1 }, clock.steadyNow());
  rate.update(destination);
  assert.deepEqual([rate.isElsewhere, rate.waitBehindMs(0)], [false, 10]);
});

/** The rate of a lane of a worker that has all partitions, and how often the lane was called. */
function ofOneWorker() {
  const clock = new SimulatedClock();
  const shares = new WorkShares();
  let calls = 0;
  const rate = new LaneRate({ clock, shares, onReady: () => (calls += 1) });
  shares.set({ indexes: new Set([0]), count: 1 }, clock.steadyNow());
  return { clock, rate, calls: () => calls };
}

test('a lane that waits for its limit is called once, however often it has asked', async () => {
  const { clock, rate, calls } = ofOneWorker();
  rate.update(exampleDestination({ rateLimit: '1/s' }));
  for (let n = 0; n < 5; n += 1) rate.await();
  await clock.pass(5_000);
  assert.equal(calls(), 1);
});

test('a lane whose limit is set again while it waits is called once', async () => {
  const { clock, rate, calls } = ofOneWorker();
  for (let n = 0; n < 5; n += 1) {
    rate.update(exampleDestination({ rateLimit: '1/s' }));
    rate.await();
  }
  await clock.pass(5_000);
  assert.equal(calls(), 1);
});

test('a lane that is closed is not called when its limit would let an event through', async () => {
  const { clock, rate, calls } = ofOneWorker();
  rate.update(exampleDestination({ rateLimit: '1/s' }));
  rate.await();
  rate.close();
  await clock.pass(5_000);
  assert.equal(calls(), 0);
});

describe('the share of a worker', () => {
  const shared = { id: 'crm', topic: 'shared' } as const;
  const dedicated = { id: 'crm', topic: 'dedicated' } as const;
  const home = partitionOf('crm', 12);
  const others = new Set(Array.from({ length: 12 }, (_, index) => index).filter((n) => n !== home));
  const owned = (...indexes: number[]): OwnedIndexes => ({ indexes: new Set(indexes), count: 12 });

  test('is all of the limit at the home of the destination, and none elsewhere', () => {
    const shares = new WorkShares();
    shares.set(owned(home), start);
    assert.deepEqual(shares.of(shared), { share: 1, sinceMs: start });
    shares.set({ indexes: others, count: 12 }, start + 5);
    assert.equal(shares.of(shared).share, 0);
  });

  test('is as old as its home is here, whatever else comes and goes', () => {
    const shares = new WorkShares();
    shares.set(owned(home), start);
    shares.set(owned(home, (home + 1) % 12), start + 5);
    assert.deepEqual(shares.of(shared), { share: 1, sinceMs: start });
    // With more partitions it is another home, though it may have the same index.
    const all = new Set(Array.from({ length: 24 }, (_, index) => index));
    shares.set({ indexes: all, count: 24 }, start + 9);
    assert.deepEqual(shares.of(shared), { share: 1, sinceMs: start + 9 });
  });

  test('of a dedicated destination is at the home in its own topic', () => {
    const shares = new WorkShares();
    shares.set(owned(home), start);
    assert.equal(shares.of(dedicated).share, 0);
    shares.set({ indexes: new Set([partitionOf('crm', 2)]), count: 2 }, start + 5, 'crm');
    assert.deepEqual(shares.of(dedicated), { share: 1, sinceMs: start + 5 });
    shares.set(noIndexes, start + 9, 'crm');
    assert.equal(shares.of(dedicated).share, 0);
  });

  test('is not known before the number of partitions is, nor while that is less than what is owned', () => {
    const shares = new WorkShares();
    assert.equal(shares.of(shared).share, 0);
    shares.set({ ...owned(home), count: undefined }, start);
    assert.equal(shares.of(shared).share, undefined);
    shares.set({ ...owned(home, 13), count: 12 }, start);
    assert.equal(shares.of(shared).share, undefined);
    shares.set(owned(home), start + 5);
    assert.deepEqual(shares.of(shared), { share: 1, sinceMs: start + 5 });
  });

  test('is one worker’s, however the partitions are dealt', () => {
    const dealt = fc.array(fc.nat(3), { minLength: 1, maxLength: 24 });
    fc.assert(
      fc.property(dealt, dealt, (indexes, own) => {
        const found = [0, 1, 2, 3].map((worker) => {
          const shares = new WorkShares();
          const of = (owners: number[]): OwnedIndexes => ({
            indexes: new Set(owners.flatMap((owner, index) => (owner === worker ? index : []))),
            count: owners.length,
          });
          shares.set(of(indexes), start);
          shares.set(of(own), start, 'crm');
          return [shares.of(shared).share, shares.of(dedicated).share];
        });
        for (const kind of [0, 1])
          assert.deepEqual(found.map((each) => each[kind]).toSorted(), [0, 0, 0, 1]);
      }),
    );
  });
});
