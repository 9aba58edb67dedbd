import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Deadlines } from '../../src/delivery/http/deadlines.ts';
import type { Timed } from '../../src/delivery/http/deadlines.ts';
import { DueGate } from '../../src/delivery/due-gate.ts';
import { Job } from '../../src/delivery/job.ts';
import type { Claim } from '../../src/delivery/job.ts';
import { SlotPool } from '../../src/delivery/lane/slot-pool.ts';
import type { SlotTaker } from '../../src/delivery/lane/slot-pool.ts';
import { SimulatedClock } from './simulated-clock.ts';

function claimOf(partition: number): Claim {
  return { topic: 'retry.10s', partition, dedicated: false, lost: false };
}

function jobOf(claim: Claim, dueMs: number): Job {
  const record = {
    ...{ topic: claim.topic, partition: claim.partition, offset: 0, timestampMs: 0 },
    ...{ key: null, value: Buffer.alloc(0), headers: {} },
    finish: () => undefined,
    detach: () => undefined,
    ...{ slot: 0, owner: { finish: () => undefined } },
  };
  const envelope = {
    ...{ destinationId: 'd', sourceId: 's', messageId: 'm', type: 'track' as const },
    ...{ configOffset: 0, appendTimeMs: 0, attempts: 1, dueMs },
  };
  return new Job(record, claim, envelope, Buffer.alloc(0));
}

describe('the due-time gate', () => {
  test('releases every record at its time, in whatever order they came', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -50, max: 200_000 }), { maxLength: 60 }),
        async (delays) => {
          const clock = new SimulatedClock();
          const startMs = clock.now();
          const released: { dueMs: number; atMs: number }[] = [];
          const gate = new DueGate<Job>(clock, (job) =>
            released.push({ dueMs: job.envelope.dueMs ?? 0, atMs: clock.now() }),
          );
          const claims = [claimOf(0), claimOf(1)];
          for (const [i, delayMs] of delays.entries()) {
            const claim = claims[i % 2] ?? claimOf(0);
            gate.add(jobOf(claim, startMs + delayMs), startMs + delayMs);
          }
          await clock.pass(300_000);
          assert.equal(released.length, delays.length);
          for (const { dueMs, atMs } of released) assert.equal(atMs, Math.max(dueMs, startMs));
        },
      ),
      { numRuns: 50 },
    );
  });

  test('forgets the records of a lost partition, and only those', async () => {
    const clock = new SimulatedClock();
    const released: number[] = [];
    const gate = new DueGate<Job>(clock, (job) => released.push(job.claim.partition));
    const [lost, kept] = [claimOf(0), claimOf(1)];
    gate.add(jobOf(lost, clock.now() + 10), clock.now() + 10);
    gate.add(jobOf(kept, clock.now() + 10), clock.now() + 10);
    gate.drop(lost);
    assert.equal(gate.waiting().get('retry.10s'), 1);
    await clock.pass(100);
    assert.deepEqual(released, [1]);
  });

  test('holds on to no fetch response, but for what is due already', () => {
    const clock = new SimulatedClock();
    const gate = new DueGate<Job>(clock, () => undefined);
    const bodyAfter = (delayMs: number): string => {
      const job = jobOf(claimOf(0), clock.now());
      const record: { value: Buffer | null; detach: () => void } = job.record;
      record.detach = () => {
        record.value = Buffer.from('copy');
      };
      gate.add(job, clock.now() + delayMs);
      return job.body.toString();
    };
    assert.deepEqual([bodyAfter(0), bodyAfter(1)], ['', 'copy']);
  });

  test('says how much waits', () => {
    const clock = new SimulatedClock();
    const gate = new DueGate<Job>(clock, () => undefined);
    for (const delayMs of [500, 200, 900])
      gate.add(jobOf(claimOf(delayMs), clock.now() + delayMs), clock.now() + delayMs);
    assert.equal(gate.waiting().get('retry.10s'), 3);
  });
});

describe('deadlines', () => {
  class Waiting implements Timed {
    deadlineMs = 0;
    earlier: Timed | undefined = undefined;
    later: Timed | undefined = undefined;
    endedMs: number | undefined;
    readonly #clock: SimulatedClock;

    constructor(clock: SimulatedClock) {
      this.#clock = clock;
    }

    onDeadline(): void {
      this.endedMs = this.#clock.steadyNow();
    }
  }

  test('end what is still there, not before its time and soon after it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ gapMs: fc.nat(400), takenMs: fc.option(fc.nat(3_000)) }), {
          maxLength: 40,
        }),
        async (attempts) => {
          const clock = new SimulatedClock();
          const deadlines = new Deadlines(clock, 1_000);
          const all: { waiting: Waiting; startedMs: number; takenMs: number | null }[] = [];
          for (const { gapMs, takenMs } of attempts) {
            await clock.pass(gapMs);
            const waiting = new Waiting(clock);
            const startedMs = clock.steadyNow();
            deadlines.add(waiting, startedMs);
            all.push({ waiting, startedMs, takenMs });
            if (takenMs !== null)
              clock.after(takenMs, () => {
                if (waiting.endedMs === undefined) deadlines.remove(waiting);
              });
          }
          await clock.pass(5_000);
          for (const { waiting, startedMs, takenMs } of all) {
            const { endedMs } = waiting;
            if (takenMs !== null && takenMs < 1_000) assert.equal(endedMs, undefined);
            else if (takenMs === null || takenMs > 1_050) {
              assert.ok(endedMs !== undefined && endedMs >= startedMs + 1_000);
              assert.ok(endedMs <= startedMs + 1_050);
            }
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  for (const [what, byMs] of [
    ['put off by a clock that is set back', -3_600_000],
    ['brought forward by a clock that is set forward', 3_600_000],
  ] as const) {
    test(`are not ${what}`, async () => {
      const clock = new SimulatedClock();
      const deadlines = new Deadlines(clock, 1_000);
      const [first, waiting] = [new Waiting(clock), new Waiting(clock)];
      // Its wake-up comes before the other's time is over.
      deadlines.add(first, clock.steadyNow());
      await clock.pass(500);
      deadlines.add(waiting, clock.steadyNow());
      clock.set(byMs);
      await clock.pass(1_050);
      assert.deepEqual([first.endedMs, waiting.endedMs], [1_000, 1_500]);
    });
  }
});

describe('the slot pool', () => {
  test('never gives out more than its size, and those that wait take turns', () => {
    const pool = new SlotPool(2);
    const turns: string[] = [];
    const taker = (name: string, wants: number): SlotTaker => {
      let left = wants;
      const self = {
        isInLine: false,
        isSlow: false,
        takeSlot: () => {
          if (left > 0 && pool.take(self)) {
            left -= 1;
            turns.push(name);
          }
          return left > 0;
        },
      };
      return self;
    };
    const [a, b] = [taker('a', 4), taker('b', 4)];
    for (const each of [a, b]) while (!pool.isFull && each.takeSlot());
    assert.equal(pool.take(a), false);
    assert.equal(pool.take(b), false);
    for (let i = 0; i < 4; i++) {
      pool.release(false);
      assert.ok(pool.taken <= 2);
    }
    assert.deepEqual(turns, ['a', 'a', 'a', 'b', 'a', 'b']);
  });

  test('gives out nothing once it is closed', () => {
    const pool = new SlotPool(2);
    pool.close();
    assert.equal(pool.take({ isInLine: false, isSlow: false, takeSlot: () => false }), false);
  });
});
