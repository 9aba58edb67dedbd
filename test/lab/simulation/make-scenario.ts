import { seededRandom } from '../../delivery/simulated-clock.ts';
import { makeAudience } from './audience-plan.ts';
import { withBatches } from './batches.ts';
import { makeCrowd } from './crowd.ts';
import { diceOf } from './dice.ts';
import { withIsolation } from './isolation.ts';
import type { Weather } from './kafka/weather.ts';
import { makeOrdinaryDay } from './ordinary-day.ts';
import { withRetryRules } from './retry-rules.ts';
import { withOrder } from './strict-order.ts';
import { withOperators } from './operator-plans.ts';
import {
  days,
  troubleKinds,
  type Burst,
  type Day,
  type DestinationPlan,
  type EndpointPlan,
  type Fault,
  type Scenario,
  type TopicKind,
  type Trouble,
} from './scenario.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

const topicKinds: readonly TopicKind[] = ['ingest', 'delivery', 'retry', 'deletions', 'pauses'];

const rackedShare = 1 / 2;

/** Of so many seeds, one lasts for minutes only; all others for longer than the retry window. */
const shortEach = 4;

/** The scenario of a seed. */
export function makeScenario(seed: number): Scenario {
  const random = seededRandom(seed * 7_919 + 13);
  const { whole, oneOf, chance } = diceOf(random);
  const isLong = seed % shortEach !== 0;
  const busyMs = oneOf([2, 5, 10, 10, 20, 40]) * minuteMs;
  const troubledMs = isLong ? whole(4 * 60, 7 * 60) * minuteMs : busyMs;
  // What is to meet has to be near one another, however long it all lasts.
  const busyFromMs = isLong
    ? [0, whole(0, troubledMs - busyMs), whole(0, troubledMs - busyMs)]
    : [0];
  const at = (): number => oneOf(busyFromMs) + whole(0, busyMs);
  const latency = (): [number, number] =>
    oneOf<[number, number]>([
      [5, 40],
      [20, 200],
      [200, 900],
      [1_000, 3_000],
    ]);
  const trouble = (): Trouble => {
    const fromMs = at();
    const lastsMs = oneOf([
      whole(1, 60) * secondMs,
      whole(1, 15) * minuteMs,
      whole(1, 15) * minuteMs,
      isLong ? whole(1, 10) * 30 * minuteMs : 45 * minuteMs,
    ]);
    return { kind: oneOf(troubleKinds), fromMs, untilMs: fromMs + lastsMs };
  };
  const endpoint = (id: string, index: number): EndpointPlan => ({
    url: `https://${id}.example/${index}`,
    latencyMs: latency(),
    capacity: oneOf([1, 4, 64, 1_000]),
    troubles: Array.from({ length: oneOf([0, 0, 1, 1, 2, 3]) }, trouble),
    goneFromMs: chance(0.04) ? at() : undefined,
  });
  const destinations = Array.from({ length: whole(1, 6) }, (_, index): DestinationPlan => {
    const id = `d${index}`;
    return {
      id,
      urls: Array.from({ length: chance(0.15) ? 2 : 1 }, (_each, n) => endpoint(id, n)),
      maxInFlight: chance(0.3) ? oneOf([1, 2, 8]) : undefined,
      rateLimit: chance(0.2) ? oneOf([0.5, 2, 20]) : undefined,
    };
  });
  const bursts = Array.from({ length: whole(1, 3) }, (): Burst => ({
    atMs: at(),
    ...oneOf([
      { calls: 5, perSecond: 0.05 },
      { calls: 20, perSecond: 1 },
      { calls: 60, perSecond: 20 },
      { calls: 120, perSecond: 200 },
    ]),
  }));
  const routers = oneOf([1, 1, 1, 2]);
  const workers = oneOf([1, 2, 2, 3]);
  const role = (): { role: 'worker' | 'router'; index: number } =>
    chance(0.7)
      ? { role: 'worker', index: whole(0, workers - 1) }
      : { role: 'router', index: whole(0, routers - 1) };
  const weather = (): Weather => ({
    latencyMs: oneOf<[number, number]>([
      [1, 4],
      [5, 50],
      [50, 400],
    ]),
    lostRequests: oneOf([0, 0.02, 0.2]),
    lostAnswers: oneOf([0, 0.02, 0.2]),
    damagedFetches: oneOf([0, 0, 0.05]),
    oddAnswers: oneOf([0, 0.05, 0.3]),
    throttleMs: oneOf([0, 0, 500]),
  });
  // Few kinds, and often, meet one another more than many do.
  const kinds = chance(0.5)
    ? faultKinds
    : Array.from({ length: whole(1, 3) }, () => oneOf(faultKinds));
  const fault = (): Fault => {
    const atMs = at();
    const forMs = oneOf([whole(1, 20) * secondMs, whole(20, 120) * secondMs]);
    switch (oneOf(kinds)) {
      case 'kill':
        return { atMs, kind: 'kill', ...role(), backAfterMs: forMs };
      case 'restart':
        return { atMs, kind: 'restart', ...role() };
      case 'suspend':
        return { atMs, kind: 'suspend', ...role(), forMs };
      case 'set clock':
        return {
          atMs,
          kind: 'set clock',
          index: whole(0, workers - 1),
          byMs: oneOf([-300, -5, 5, 300]) * secondMs,
        };
      case 'scale up':
        return { atMs, kind: 'scale up', forMs: whole(1, 10) * minuteMs };
      case 'broker':
        return {
          atMs,
          kind: 'broker',
          node: whole(1, 3),
          state: oneOf(['down', 'suspended', 'isolated']),
          forMs,
        };
      case 'cut off':
        return {
          atMs,
          kind: 'cut off',
          ...role(),
          node: chance(0.6) ? undefined : whole(1, 3),
          breaks: chance(0.3),
          forMs,
        };
      case 'take right away':
        return { atMs, kind: 'take right away', topic: oneOf(topicKinds), forMs };
      case 'move leaders':
        return { atMs, kind: 'move leaders' };
      case 'weather':
        return { atMs, kind: 'weather', weather: weather(), forMs };
      case 'change':
        return { atMs, kind: 'change', destination: whole(0, destinations.length - 1) };
      case 'pause':
        return { atMs, kind: 'pause', destination: whole(0, destinations.length - 1), forMs };
      case 'delete user':
        return { atMs, kind: 'delete user', user: whole(0, 9) };
    }
  };
  const isolated = withIsolation({
    seed,
    nodes: 3,
    partitions: oneOf([1, 2, 4, 6]),
    workers,
    routers,
    maxInFlight: oneOf([8, 64, 1_024]),
    users: oneOf([1, 10, 100]),
    destinations,
    bursts,
    faults: Array.from({ length: oneOf([0, 1, 2, 4, 8, 16]) }, fault).toSorted(
      (a, b) => a.atMs - b.atMs,
    ),
    hasRacks: seededRandom(seed * 15_485_863 + 3)() < rackedShare,
    troubledMs,
  });
  const scenario = withBatches(withOrder(withRetryRules(withOperators(isolated))));
  if (isCrowd(seed)) return makeCrowd(seededRandom(seed * 15_485_863 + 3), scenario);
  const day = dayOf(seed);
  if (day !== undefined) return makeOrdinaryDay(day, seededRandom(seed * 49_979_687 + 7), scenario);
  const audience = makeAudience(seed, at);
  return audience === undefined ? scenario : { ...scenario, audience };
}

/** So many events take as long as those of thirty scenarios. */
const crowdEach = 397;

/** Whether the seed's scenario has more events than windows hold. */
export function isCrowd(seed: number): boolean {
  return seed % crowdEach === 0;
}

/** Each so many seeds are an ordinary day, each kind in turn. None of these seeds is a short one. */
const dayEach = 16;
const dayAt = 11;

/** The kind of ordinary day that the seed's scenario is, if it is one. */
function dayOf(seed: number): Day | undefined {
  if (seed % dayEach !== dayAt) return undefined;
  return days[Math.floor(seed / dayEach) % days.length];
}

export const faultKinds = [
  'kill',
  'kill',
  'restart',
  'suspend',
  'set clock',
  'scale up',
  'broker',
  'broker',
  'cut off',
  'cut off',
  'take right away',
  'move leaders',
  'weather',
  'weather',
  'change',
  'pause',
  'delete user',
] as const;
