import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { Deadlines } from '../../src/delivery/http/deadlines.ts';
import type { Timed } from '../../src/delivery/http/deadlines.ts';
import { DueGate, type DueGateOptions } from '../../src/delivery/due-gate.ts';
import { newClaim } from '../../src/delivery/job.ts';
import { TakenRecord, type RecordOwner } from '../../src/kafka/consume/taken-record.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import type { Claim } from '../../src/delivery/job.ts';
import { SlotPool } from '../../src/delivery/lane/slot-pool.ts';
import type { SlotTaker } from '../../src/delivery/lane/slot-pool.ts';
import { envelopeHeader } from '../../src/event/envelope.ts';
import { SimulatedClock } from './simulated-clock.ts';

function claimOf(partition: number): Claim {
  return newClaim({ topic: 'retry.10s', partition }, false);
}

const nobody: RecordOwner = { finish: () => undefined, release: () => undefined };

function recordOf(
  { topic, partition }: Claim,
  offset: number,
  content: Partial<IncomingRecord> = {},
  owner: RecordOwner = nobody,
): TakenRecord {
  const key = Buffer.from(`key ${offset}`);
  const value = Buffer.from(`body ${offset}`);
  const headers = { [envelopeHeader]: Buffer.from(`header ${offset}`) };
  const record = { topic, partition, offset, timestampMs: 7, key, value, headers, ...content };
  return new TakenRecord(record, owner, offset);
}

function gateOf(clock: SimulatedClock, onDue: DueGateOptions['onDue']): DueGate {
  return new DueGate({
    clock,
    onDue,
    onRecalled: onDue,
    mayGo: () => false,
    recalledBefore: () => 0,
  });
}

function contentOf({ topic, partition, offset, timestampMs, slot, ...rest }: TakenRecord): object {
  const { key, value, headers } = rest;
  const text = { key: String(key), value: String(value), header: String(headers[envelopeHeader]) };
  return { topic, partition, offset, timestampMs, slot, ...text };
}

describe('the due-time gate', () => {
  test('hands every record over at its time, in whatever order they came', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 200_000 }), { maxLength: 60 }),
        async (delays) => {
          const clock = new SimulatedClock();
          const startMs = clock.now();
          const handedOver = new Map<number, number>();
          const gate = gateOf(clock, (record, claim) => {
            assert.deepEqual(contentOf(record), contentOf(recordOf(claim, record.offset)));
            handedOver.set(record.offset, clock.now() - startMs);
          });
          const claims = [claimOf(0), claimOf(1)];
          for (const [n, delayMs] of delays.entries()) {
            const claim = claims[n % 2] ?? claimOf(0);
            gate.hold(recordOf(claim, n), claim, startMs + delayMs);
          }
          await clock.pass(300_000);
          assert.equal(handedOver.size, delays.length);
          for (const [n, afterMs] of handedOver) {
            const lateMs = afterMs - (delays[n] ?? NaN);
            assert.ok(lateMs >= 0 && lateMs <= 20, `${lateMs} ms late`);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test('hands over what comes while it waits for something later', async () => {
    const clock = new SimulatedClock();
    const handedOver: number[] = [];
    const claim = claimOf(0);
    const gate = gateOf(clock, ({ offset }) => handedOver.push(offset));
    gate.hold(recordOf(claim, 0), claim, clock.now() + 60_000);
    await clock.pass(10_000);
    gate.hold(recordOf(claim, 1), claim, clock.now() + 10_000);
    await clock.pass(10_000);
    assert.deepEqual(handedOver, [1]);
    await clock.pass(40_000);
    assert.deepEqual(handedOver, [1, 0]);
  });

  test('releases the records of a partition that goes, and only those', async () => {
    const clock = new SimulatedClock();
    const handedOver: number[] = [];
    const released: number[] = [];
    const gate = gateOf(clock, (_, { partition }) => handedOver.push(partition));
    const [gone, kept] = [claimOf(0), claimOf(1)];
    const owner = { finish: () => assert.fail(), release: (slot: number) => released.push(slot) };
    for (const claim of [gone, kept])
      for (const offset of [3, 4])
        gate.hold(recordOf(claim, offset, {}, owner), claim, clock.now() + 10);
    gate.release(gone);
    assert.deepEqual(released, [3, 4]);
    assert.equal(gate.waiting().get('retry.10s'), 2);
    gate.close();
    assert.deepEqual(released, [3, 4, 3, 4]);
    await clock.pass(100);
    assert.deepEqual(handedOver, []);
  });

  test('holds on to no fetch response', async () => {
    const clock = new SimulatedClock();
    const handedOver: TakenRecord[] = [];
    const gate = gateOf(clock, (record) => handedOver.push(record));
    const response = Buffer.from('key header body');
    const claim = claimOf(0);
    const record = recordOf(claim, 0, {
      key: response.subarray(0, 3),
      value: response.subarray(11),
      headers: { [envelopeHeader]: response.subarray(4, 10) },
    });
    gate.hold(record, claim, clock.now() + 10);
    response.fill('x');
    await clock.pass(10);
    const [{ key, value, headers } = record] = handedOver;
    assert.deepEqual([key, headers[envelopeHeader], value].map(String), ['key', 'header', 'body']);
  });

  test('gives back a record of any size', async () => {
    const clock = new SimulatedClock();
    const sizes: (number | undefined)[] = [];
    const claim = claimOf(0);
    const gate = gateOf(clock, ({ value }) => sizes.push(value?.length));
    for (const bytes of [0, 100_000, 1, 16_000, 16_384])
      gate.hold(recordOf(claim, 0, { value: Buffer.alloc(bytes) }), claim, clock.now() + 10);
    await clock.pass(10);
    assert.deepEqual(sizes.toSorted(), [0, 1, 100_000, 16_000, 16_384]);
  });

  test('sets aside what others have before the end of a recall, and no more than it has memory for', async () => {
    const clock = new SimulatedClock();
    const aside: number[] = [];
    const gate = new DueGate({
      clock,
      onDue: () => undefined,
      onRecalled: () => undefined,
      mayGo: () => false,
      recalledBefore: ({ partition }) => (partition === 0 ? 100 : 0),
    });
    const owner = {
      finish: () => undefined,
      release: () => undefined,
      setAside: (slot: number) => aside.push(slot),
    };
    const hold = (offset: number, partition = 0): void => {
      const claim = claims[partition] ?? claimOf(partition);
      const value = Buffer.alloc(10_000_000);
      gate.hold(recordOf(claim, offset, { value }, owner), claim, clock.now() + 10);
    };
    const claims = [claimOf(0), claimOf(1)];
    hold(100);
    hold(0, 1);
    for (let offset = 1; offset <= 8; offset += 1) hold(offset);
    assert.deepEqual(aside, [1, 2, 3, 4, 5, 6]);
    await clock.pass(50);
    hold(9);
    assert.deepEqual(aside.at(-1), 9);
    gate.close();
  });

  test('says how much waits', () => {
    const clock = new SimulatedClock();
    const gate = gateOf(clock, () => undefined);
    for (const delayMs of [500, 200, 900]) {
      const claim = claimOf(delayMs);
      gate.hold(recordOf(claim, 0), claim, clock.now() + delayMs);
    }
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
        line: undefined,
        isSlow: false,
        inFlight: 0,
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
    assert.equal(
      pool.take({ line: undefined, isSlow: false, inFlight: 0, takeSlot: () => false }),
      false,
    );
  });
});
