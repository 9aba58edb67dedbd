import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { seededRandom, SimulatedClock } from '../delivery/simulated-clock.ts';
import {
  answerOk,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from '../delivery/simulated-world.ts';
import type { Answer, Placed } from '../delivery/simulated-world.ts';
import { ownedBy } from './deployment.ts';
import type { RetryPolicy } from '../../src/delivery/retry-policy.ts';
import { deliveryKey } from '../../src/event/envelope.ts';

const partitions = 4;
const trafficMs = 40_000;
const stepMs = 100;
/** How long a member waits for what is under way before it gives a partition up all the same. */
const patienceMs = 8_000;

/** Short, so that what is given up is given up soon. */
const policy: RetryPolicy = {
  tiersMs: [10_000, minuteMs, 5 * minuteMs],
  windowMs: 20 * minuteMs,
  maxAgeMs: 72 * hourMs,
  spillAfterMs: 84 * hourMs,
};

const kinds = ['quick', 'slow', 'hanging', 'recovering', 'flaky', 'refusing', 'busy'] as const;

interface Load {
  readonly kind: (typeof kinds)[number];
  readonly isDedicated: boolean;
  /** Half of what comes, or none. */
  readonly isLimited: boolean;
  readonly perSecond: number;
  readonly maxInFlight: number;
}

interface Scenario {
  readonly seed: number;
  readonly loads: readonly Load[];
  readonly maxInFlight: number;
}

const scenario: fc.Arbitrary<Scenario> = fc.record({
  seed: fc.nat(),
  loads: fc.array(
    fc.record({
      kind: fc.constantFrom(...kinds),
      isDedicated: fc.boolean(),
      isLimited: fc.boolean(),
      perSecond: fc.integer({ min: 1, max: 20 }),
      maxInFlight: fc.integer({ min: 1, max: 16 }),
    }),
    { minLength: 2, maxLength: 6 },
  ),
  maxInFlight: fc.integer({ min: 4, max: 64 }),
});

function answerOf(kind: Load['kind'], sinceMs: number, random: () => number): Answer {
  const quick = 5 + Math.floor(random() * 195);
  switch (kind) {
    case 'quick':
      return { ...answerOk, afterMs: quick };
    case 'slow':
      return { ...answerOk, afterMs: 1_000 + 10 * quick };
    case 'hanging':
      return hangs;
    case 'recovering':
      return sinceMs < trafficMs / 2 ? hangs : { ...answerOk, afterMs: quick };
    case 'flaky':
      return random() < 0.5 ? { ...failsWith(503), afterMs: quick } : answerOk;
    case 'refusing':
      return random() < 0.5 ? { ...failsWith(410), afterMs: quick } : answerOk;
    case 'busy':
      return random() < 0.2 ? { ...failsWith(429, 3_000), afterMs: quick } : answerOk;
  }
}

interface Move {
  readonly partition: number;
  readonly from: SimulatedWorld;
  readonly to: SimulatedWorld;
  readonly sinceMs: number;
}

/** Two workers of one group, whose partitions go from one to the other while events come. */
class TwoWorkers {
  readonly clock: SimulatedClock = new SimulatedClock();
  readonly ids: string[] = [];
  readonly #of: Scenario;
  readonly #random: () => number;
  readonly #workers: readonly [SimulatedWorld, SimulatedWorld];
  readonly #owners: SimulatedWorld[];
  readonly #topics: readonly string[];
  #moves: Move[] = [];
  /** From a partition's revocation until it was given up. */
  readonly drainsMs: number[] = [];
  constructor(of: Scenario) {
    const { seed, loads, maxInFlight } = of;
    const { clock } = this;
    this.#of = of;
    this.#random = seededRandom(seed);
    const options = { clock, partitions, maxInFlight, seed, policy };
    this.#workers = [
      new SimulatedWorld({ ...options, name: 'a' }),
      new SimulatedWorld({ ...options, name: 'b' }),
    ];
    const [first, second] = this.#workers;
    this.#owners = Array.from({ length: partitions }, (_, n) => (n % 2 === 0 ? first : second));
    const startMs = clock.now();
    for (const worker of this.#workers) {
      worker.readerOf = (record) => this.#ownerOf(record);
      worker.answer = (url, _sending, nowMs) => {
        const load = loads[Number(/d(\d+)/.exec(url)?.[1])];
        return answerOf(load?.kind ?? 'quick', nowMs - startMs, this.#random);
      };
      loads.forEach(({ isDedicated, isLimited, perSecond, maxInFlight: most }, index) => {
        worker.addDestination(`d${index}`, {
          maxInFlight: most,
          topic: isDedicated ? 'dedicated' : 'shared',
          ...(isLimited ? { rateLimit: perSecond / 2 } : {}),
        });
      });
    }
    this.#tellShares();
    const { topology } = first;
    this.#topics = [
      topology.topics.delivery,
      ...topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs)),
      ...loads.map((_, index) => topology.dedicatedTopic(`d${index}`).name),
    ];
  }

  get workers(): readonly SimulatedWorld[] {
    return this.#workers;
  }

  /** Events in records that were released. */
  get released(): number {
    return this.#workers.reduce((sum, { released }) => sum + released.length, 0);
  }

  async run(): Promise<void> {
    for (let atMs = 0; atMs < trafficMs; atMs += stepMs) {
      this.#of.loads.forEach((load, index) => {
        this.#publish(load, index);
      });
      if (this.#random() < 0.03) this.#revokeOne();
      await this.#step();
    }
    while (this.#moves.length > 0) await this.#step();
    for (let round = 0; round < 60 && this.#isBusy; round += 1)
      await this.clock.pass(10 * minuteMs);
  }

  /** How often each event was delivered or given up. */
  ends(): Map<string, number> {
    const ends = new Map(this.ids.map((id) => [id, 0]));
    for (const { delivered, deadLetters } of this.#workers)
      for (const id of [...delivered, ...deadLetters.map(({ messageId }) => messageId)])
        ends.set(id, (ends.get(id) ?? 0) + 1);
    return ends;
  }

  /** Of all partitions, records that are neither finished nor released. */
  inWork(): number {
    let records = 0;
    for (const worker of this.#workers)
      for (let partition = 0; partition < partitions; partition += 1)
        records += this.#inWork(worker, partition);
    return records;
  }

  get #isBusy(): boolean {
    return this.inWork() > 0 || [...this.ends().values()].includes(0);
  }

  #inWork(worker: SimulatedWorld, partition: number): number {
    return this.#topics.reduce((sum, topic) => sum + worker.inWork(topic, partition), 0);
  }

  /** Of all topics, the partitions of one index are one worker's. */
  #tellShares(): void {
    for (const worker of this.#workers) {
      const owned = ownedBy(worker, this.#owners);
      worker.engine.sharesChanged(owned);
      this.#of.loads.forEach((_, index) => {
        worker.engine.sharesChanged(owned, `d${index}`);
      });
    }
  }

  #ownerOf(record: Placed): SimulatedWorld {
    const owner = this.#owners[this.#workers[0].partitionOf(record)];
    return owner ?? assert.fail('nobody owns the partition');
  }

  #publish({ isDedicated, isLimited, perSecond }: Load, index: number): void {
    const events = Math.floor((perSecond * stepMs) / 1_000 + this.#random());
    const topic = isDedicated ? `delivery.d${index}` : 'delivery';
    for (let n = 0; n < events; n += 1) {
      const user = `u${Math.floor(this.#random() * 20)}`;
      const key = deliveryKey(`d${index}`, user);
      const owner = this.#ownerOf({ key, partitionKey: isLimited ? `d${index}` : undefined });
      this.ids.push(owner.publish(`d${index}`, user, {}, topic));
    }
  }

  #revokeOne(): void {
    const partition = Math.floor(this.#random() * partitions);
    const from = this.#owners[partition] ?? assert.fail();
    if (this.#moves.some((move) => move.partition === partition)) return;
    const to = from === this.#workers[0] ? this.#workers[1] : this.#workers[0];
    for (const topic of this.#topics) from.revoke(topic, partition);
    this.#moves.push({ partition, from, to, sinceMs: this.clock.now() });
  }

  async #step(): Promise<void> {
    await this.clock.pass(stepMs);
    const ready = this.#moves.filter(
      ({ from, partition, sinceMs }) =>
        this.#inWork(from, partition) === 0 || this.clock.now() - sinceMs >= patienceMs,
    );
    this.#moves = this.#moves.filter((move) => !ready.includes(move));
    for (const { from, to, partition, sinceMs } of ready) {
      this.drainsMs.push(this.clock.now() - sinceMs);
      this.#owners[partition] = to;
      const readAgain = this.#topics.flatMap((topic) => from.lose(topic, partition));
      this.#tellShares();
      for (const record of readAgain) to.take(record);
    }
  }
}

describe('while partitions go from one worker to another under any load', () => {
  const runs: { readonly of: Scenario; readonly pair: TwoWorkers }[] = [];

  before(async () => {
    for (const of of fc.sample(scenario, { numRuns: 8, seed: 22 })) {
      const pair = new TwoWorkers(of);
      await pair.run();
      runs.push({ of, pair });
    }
  });

  test('what is under way ends before they are given up', () => {
    let moves = 0;
    for (const { of, pair } of runs) {
      moves += pair.drainsMs.length;
      const longestMs = Math.max(...pair.drainsMs);
      assert.ok(longestMs < 6_000, `${longestMs} ms in ${JSON.stringify(of)}`);
    }
    assert.ok(moves > 50, `only ${moves}`);
  });

  test('each record is finished or released, and released ones are many', () => {
    // The world throws where a record comes to two ends.
    for (const { of, pair } of runs) assert.equal(pair.inWork(), 0, JSON.stringify(of));
    assert.ok(runs.every(({ pair }) => pair.released > 0));
  });

  test('no event is lost, and none comes to two ends', () => {
    for (const { of, pair } of runs)
      for (const [id, ends] of pair.ends()) assert.equal(ends, 1, `${id} in ${JSON.stringify(of)}`);
  });
});
