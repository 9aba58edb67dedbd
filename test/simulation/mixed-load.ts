import fc from '../harness/fast-check.ts';
import type { RetryPolicy } from '../../src/delivery/retry-policy.ts';
import { seededRandom } from '../delivery/simulated-clock.ts';
import {
  answerOk,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from '../delivery/simulated-world.ts';
import type { Answer } from '../delivery/simulated-world.ts';

const kinds = ['quick', 'slow', 'hanging', 'failing', 'flaky', 'recovering', 'busy'] as const;
/** Healthy: quick, and with more slots than it needs. */
type Kind = (typeof kinds)[number] | 'healthy';

/** A destination with one URL, what its endpoint is like, and what comes for it. */
export interface Load {
  readonly kind: Kind;
  /** Its endpoint is healthy, and gets more than its limit. */
  readonly isLimited: boolean;
  readonly perSecond: number;
  readonly users: number;
  readonly maxInFlight: number;
}

export interface MixedLoad {
  readonly seed: number;
  readonly loads: readonly Load[];
  readonly maxInFlight: number;
}

const load: fc.Arbitrary<Load> = fc.record({
  kind: fc.constantFrom(...kinds),
  isLimited: fc.boolean(),
  perSecond: fc.integer({ min: 1, max: 20 }),
  users: fc.integer({ min: 1, max: 40 }),
  maxInFlight: fc.integer({ min: 1, max: 64 }),
});

/** With what it gets, a healthy one needs at most four slots and no user waits for long. */
const healthyLoad: fc.Arbitrary<Load> = fc.record({
  kind: fc.constant('healthy'),
  isLimited: fc.constant(false),
  perSecond: fc.integer({ min: 1, max: 20 }),
  users: fc.integer({ min: 20, max: 60 }),
  maxInFlight: fc.integer({ min: 8, max: 64 }),
});

const mixedLoad: fc.Arbitrary<MixedLoad> = fc.record({
  seed: fc.nat(),
  loads: fc
    .tuple(
      fc.array(healthyLoad, { minLength: 1, maxLength: 3 }),
      fc.array(load, { minLength: 1, maxLength: 8 }),
    )
    .map((both) => both.flat()),
  maxInFlight: fc.integer({ min: 16, max: 128 }),
});

/** The same ones in every run. */
export function mixedLoads(count: number): MixedLoad[] {
  return fc.sample(mixedLoad, { numRuns: count, seed: 4 });
}

const trafficMs = 40_000;
const stepMs = 100;
/** Short, so that what is given up is given up soon. */
const policy: RetryPolicy = {
  tiersMs: [10_000, minuteMs, 5 * minuteMs],
  windowMs: 20 * minuteMs,
  maxAgeMs: 72 * hourMs,
  spillAfterMs: 84 * hourMs,
};

export interface FirstAttempt {
  readonly startMs: number;
  readonly endMs: number;
}

/** What came of it. */
export interface Aftermath {
  readonly of: MixedLoad;
  readonly world: SimulatedWorld;
  readonly ids: readonly string[];
  /** Of each destination and user, the events in their order. */
  readonly byUser: ReadonlyMap<string, readonly string[]>;
  readonly firstAttempts: ReadonlyMap<string, FirstAttempt>;
  /** Put off before their first attempt. */
  readonly deferred: ReadonlySet<string>;
}

/** Traffic for all destinations at once, and the time until the last of it is over. */
export async function runMixedLoad(of: MixedLoad): Promise<Aftermath> {
  const { seed, loads, maxInFlight } = of;
  const world = new SimulatedWorld({ seed, maxInFlight, policy });
  const random = seededRandom(seed);
  const firstAttempts = new Map<string, FirstAttempt>();
  const startMs = world.clock.now();
  world.answer = (url, { messageId }, nowMs) => {
    const kind = loads[indexOf(url)]?.kind ?? 'healthy';
    const answer = answerOf(kind, nowMs - startMs, random);
    if (!firstAttempts.has(messageId))
      firstAttempts.set(messageId, { startMs: nowMs, endMs: nowMs + answer.afterMs });
    return answer;
  };
  loads.forEach(({ isLimited, perSecond, maxInFlight: most }, index) => {
    const limit = isLimited ? { rateLimit: 0.7 * perSecond } : {};
    world.addDestination(nameOf(index), { maxInFlight: most, ...limit });
  });
  const ids: string[] = [];
  const byUser = new Map<string, string[]>();
  for (let atMs = 0; atMs < trafficMs; atMs += stepMs) {
    loads.forEach(({ perSecond, users }, index) => {
      for (let events = arrivals((perSecond * stepMs) / 1_000, random); events > 0; events--) {
        const user = `u${Math.floor(random() * users)}`;
        const id = world.publish(nameOf(index), user);
        const key = `${index}:${user}`;
        ids.push(id);
        byUser.set(key, [...(byUser.get(key) ?? []), id]);
      }
    });
    await world.clock.pass(stepMs);
  }
  // A slow endpoint with one slot works at its backlog for hours.
  for (
    let hour = 0;
    hour < 12 && world.delivered.length + world.deadLetters.length < ids.length;
    hour++
  )
    await world.clock.pass(hourMs);
  const deferred = new Set(
    world.retries
      .filter(({ envelope }) => envelope.attempts === 0)
      .map(({ envelope }) => envelope.messageId),
  );
  return { of, world, ids, byUser, firstAttempts, deferred };
}

export function nameOf(index: number): string {
  return `d${index}`;
}

export function urlOf(index: number): string {
  return `https://${nameOf(index)}.example/hook`;
}

function indexOf(url: string): number {
  return Number(/^https:\/\/d(\d+)\./.exec(url)?.[1]);
}

/** A whole number, on average so many. */
function arrivals(mean: number, random: () => number): number {
  return Math.floor(mean + random());
}

function answerOf(kind: Kind, sinceMs: number, random: () => number): Answer {
  const quick = 5 + Math.floor(random() * 195);
  switch (kind) {
    case 'healthy':
    case 'quick':
      return { ...answerOk, afterMs: quick };
    case 'slow':
      return { ...answerOk, afterMs: 1_000 + 10 * quick };
    case 'hanging':
      return hangs;
    case 'failing':
      return { ...failsWith(503), afterMs: quick };
    case 'flaky':
      return random() < 0.5 ? { ...failsWith(500), afterMs: quick } : answerOk;
    case 'recovering':
      return sinceMs < trafficMs / 2 ? hangs : { ...answerOk, afterMs: quick };
    case 'busy':
      return random() < 0.2
        ? { ...failsWith(429, Math.floor(random() * minuteMs)), afterMs: quick }
        : answerOk;
  }
}
