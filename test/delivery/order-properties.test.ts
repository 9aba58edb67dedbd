import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { answerOk, failsWith, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';
import { SimulatedClock } from './simulated-clock.ts';

const topic = 'delivery.crm';
const orderForMs = 10 * minuteMs;

type Step =
  | { readonly kind: 'publish'; readonly user: number }
  | { readonly kind: 'fail'; readonly user: number; readonly forMs: number }
  | { readonly kind: 'outage'; readonly forMs: number; readonly hangs: boolean }
  | { readonly kind: 'move' }
  | { readonly kind: 'pause' | 'resume' | 'retry' };

const users = 4;
const forMs = fc.integer({ min: 1_000, max: 20 * minuteMs });
const user = fc.nat({ max: users - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('publish' as const), user }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fail' as const), user, forMs }) },
  fc.record({ kind: fc.constant('outage' as const), forMs, hangs: fc.boolean() }),
  fc.record({ kind: fc.constant('move' as const) }),
  fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'retry' as const) }),
);
const history = fc.array(fc.tuple(step, fc.constantFrom(0, 5, 500, 30_000, 4 * minuteMs)), {
  minLength: 5,
  maxLength: 20,
});

/** Workers one after the other, each of which takes over what the one before had not finished. */
class Shift {
  readonly clock = new SimulatedClock();
  readonly taken: string[] = [];
  readonly userOf = new Map<string, number>();
  /** By message. */
  readonly firstTriedMs = new Map<string, number>();
  readonly left: { readonly messageId: string; readonly afterMs: number }[] = [];
  worker: SimulatedWorld;
  isPaused = false;
  /** All that ever worked: each reads its own retry topics to the end. */
  readonly workers: SimulatedWorld[] = [];
  readonly #failsUntilMs = Array.from({ length: users }, () => 0);
  #outage = { untilMs: 0, hangs: false };

  constructor() {
    this.worker = this.#hire();
  }

  perform(what: Step): void {
    const nowMs = this.clock.now();
    switch (what.kind) {
      case 'publish': {
        const id = this.worker.publish('crm', `u${what.user}`, {}, topic);
        this.userOf.set(id, what.user);
        break;
      }
      case 'fail':
        this.#failsUntilMs[what.user] = nowMs + what.forMs;
        break;
      case 'outage':
        this.#outage = { untilMs: nowMs + what.forMs, hangs: what.hangs };
        break;
      case 'move': {
        const former = this.worker;
        this.worker = this.#hire();
        for (const record of former.lose(topic)) this.worker.take(record);
        break;
      }
      case 'pause':
      case 'resume':
        this.isPaused = what.kind === 'pause';
        for (const each of this.workers) each[what.kind]('crm');
        break;
      case 'retry':
        this.worker.recall('crm');
    }
  }

  #hire(): SimulatedWorld {
    const { clock } = this;
    const number = this.workers.length + 1;
    const world = new SimulatedWorld({ clock, name: `w${number}-`, seed: number });
    this.workers.push(world);
    world.addDestination('crm', { topic: 'dedicated', order: 'user', orderFor: '10m' });
    if (this.isPaused) world.pause('crm');
    world.readerOf = (record) => {
      const envelope = decodeEnvelope(Buffer.from(record.headers?.[envelopeHeader] ?? ''));
      const { messageId = '' } = envelope ?? {};
      const triedMs = this.firstTriedMs.get(messageId) ?? Infinity;
      this.left.push({ messageId, afterMs: clock.now() - triedMs });
      return world;
    };
    world.answer = (_url, { messageId }, nowMs) => {
      if (!this.firstTriedMs.has(messageId)) this.firstTriedMs.set(messageId, nowMs);
      if (nowMs < this.#outage.untilMs) return this.#outage.hangs ? hangs : failsWith(503);
      const failsUntilMs = this.#failsUntilMs[this.userOf.get(messageId) ?? 0] ?? 0;
      return nowMs < failsUntilMs ? failsWith(500) : answerOk;
    };
    world.onDelivered = (id) => {
      if (!this.taken.includes(id)) this.taken.push(id);
    };
    return world;
  }
}

test('with order: user, no event of a user comes before an earlier one, whatever fails and wherever the partition moves, but for what has failed for orderFor', async () => {
  let left = 0;
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const shift = new Shift();
      for (const [what, thenMs] of steps) {
        shift.perform(what);
        await shift.clock.pass(thenMs);
      }
      if (shift.isPaused) shift.perform({ kind: 'resume' });
      await shift.clock.pass(2 * hourMs);
      const kept = shift.workers.flatMap((each) => each.kept.map(({ messageId }) => messageId));
      assert.equal(new Set([...shift.taken, ...kept]).size, shift.userOf.size);
      for (const { afterMs } of shift.left) assert.ok(afterMs >= orderForMs, `${afterMs} ms`);
      const gone = new Set(shift.left.map(({ messageId }) => messageId));
      left += gone.size;
      assert.ok(kept.every((id) => gone.has(id)));
      for (let n = 0; n < users; n += 1) {
        const isOf = (id: string): boolean => shift.userOf.get(id) === n && !gone.has(id);
        assert.deepEqual(shift.taken.filter(isOf), [...shift.userOf.keys()].filter(isOf));
      }
    }),
    { numRuns: 20, seed: 20_261_128 },
  );
  assert.ok(left > 0, 'some have left their line');
});
