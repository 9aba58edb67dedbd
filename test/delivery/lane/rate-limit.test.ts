import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { burstMs, RateLimit } from '../../../src/delivery/lane/rate-limit.ts';
import { WorkShares } from '../../../src/delivery/lane/work-shares.ts';
import type { Destination } from '../../../src/resources/resource.ts';
import { seededRandom } from '../simulated-clock.ts';

const start = Date.UTC(2026, 0, 1);
const middle = (): number => 0.5;

describe('a rate limit', () => {
  test('lets through at most its rate and its burst in any span of time', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.double({ min: 0.001, max: 500, noNaN: true }),
        fc.constantFrom(1, 0.5, 1 / 3, 1 / 12),
        (seed, perSecond, share) => {
          const random = seededRandom(seed);
          const limit = new RateLimit(perSecond, share, start, random);
          const taken: number[] = [];
          let nowMs = start;
          while (taken.length < 200) {
            // Asks now and then long after, and now and then at once.
            nowMs += limit.waitMs(nowMs) * (random() < 0.8 ? 1 : 3 * random());
            if (limit.waitMs(nowMs) > 0) continue;
            limit.take(nowMs, false);
            taken.push(nowMs);
          }
          taken.forEach((fromMs, from) => {
            for (let to = from; to < taken.length; to++) {
              const spanMs = (taken[to] ?? 0) - fromMs;
              const allowed = 1 + (perSecond * share * (spanMs + burstMs)) / 1_000;
              assert.ok(to - from + 1 <= allowed + 1e-3, `${to - from + 1} in ${spanMs} ms`);
            }
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  test('does not give out again what was used up before its share changed', () => {
    const limit = new RateLimit(1, 1, start - 10_000, middle);
    limit.take(start, false);
    limit.change(1, 0.5, start, middle);
    assert.equal(limit.waitMs(start), 2_000 - burstMs);
    limit.change(2, 0.5, start, middle);
    assert.equal(limit.waitMs(start), 1_000 - burstMs);
  });

  test('of a worker that has just got its share starts with nothing saved up', () => {
    assert.equal(new RateLimit(1, 0.5, start, middle).waitMs(start), 1_000);
    assert.equal(new RateLimit(1, 0.5, start - 5_000, middle).waitMs(start), 0);
  });

  test('holds everything back while the share is not known, and says that it will be soon', () => {
    const limit = new RateLimit(100, undefined, start, middle);
    assert.deepEqual([limit.waitMs(start), limit.waitBehindMs(50, start)], [Infinity, 0]);
    limit.change(100, 1, start, middle);
    assert.equal(limit.waitMs(start + 10), 0);
  });

  test('promises each event that is put off a later turn', () => {
    const limit = new RateLimit(1, 1, start - 10_000, middle);
    limit.take(start, false);
    const turns = [1, 2, 3].map(() => limit.reserve(start, limit.waitBehindMs(2, start)));
    assert.deepEqual(turns, [2_900, 3_900, 4_900]);
    // One that goes before them takes a turn away; one that comes back for its own does not.
    limit.take(start + 1_000, false);
    assert.equal(limit.reserve(start + 1_000, 0), 5_900);
    limit.take(start + 2_000, true);
    assert.equal(limit.reserve(start + 2_000, 0), 5_900);
  });
});

describe('the share of a worker', () => {
  const destination = (topic: Destination['topic']): Destination => ({
    ...{ kind: 'Destination', id: 'crm', name: 'crm', sources: [], enabled: true, webhooks: [] },
    ...{ payload: 'standard', topic },
  });

  test('is its part of the partition indexes', () => {
    const shares = new WorkShares();
    shares.set({ owned: 4, count: 12 }, start);
    assert.deepEqual(shares.of(destination('shared')), { share: 4 / 12, sinceMs: start });
  });

  test('of a dedicated destination is three quarters by its own topic and one by the retry topics', () => {
    const shares = new WorkShares();
    shares.set({ owned: 4, count: 12 }, start);
    shares.set({ owned: 1, count: 2 }, start + 5, 'crm');
    assert.deepEqual(shares.of(destination('dedicated')), {
      share: 0.75 / 2 + 0.25 / 3,
      sinceMs: start + 5,
    });
    shares.set({ owned: 0, count: undefined }, start + 9, 'crm');
    assert.equal(shares.of(destination('dedicated')).share, 0.25 / 3);
  });

  test('is not known before the number of partitions is', () => {
    const shares = new WorkShares();
    assert.equal(shares.of(destination('shared')).share, 0);
    shares.set({ owned: 4, count: undefined }, start);
    assert.equal(shares.of(destination('shared')).share, undefined);
  });

  test('adds up to one over all workers, however the partitions are dealt', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(3), { minLength: 1, maxLength: 24 }),
        fc.array(fc.nat(3), { minLength: 1, maxLength: 24 }),
        (indexes, own) => {
          let sum = 0;
          for (let worker = 0; worker < 4; worker++) {
            const shares = new WorkShares();
            const owned = (of: number[]): number => of.filter((w) => w === worker).length;
            shares.set({ owned: owned(indexes), count: indexes.length }, start);
            shares.set({ owned: owned(own), count: own.length }, start, 'crm');
            sum += shares.of(destination('dedicated')).share ?? 0;
          }
          assert.ok(Math.abs(sum - 1) < 1e-9, `${sum}`);
        },
      ),
    );
  });
});
