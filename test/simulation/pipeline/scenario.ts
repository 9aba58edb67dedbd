import { seededRandom } from '../../delivery/simulated-clock.ts';
import { makeCrowd } from './crowd.ts';
import type { Weather } from './kafka/brokers.ts';

/** What happens in one run, as plain data: a seed makes it, and a shorter one of a failing run is found by leaving things out. */
export interface Scenario {
  readonly seed: number;
  readonly nodes: number;
  readonly partitions: number;
  readonly workers: number;
  readonly routers: number;
  readonly maxInFlight: number;
  readonly users: number;
  readonly destinations: readonly DestinationPlan[];
  readonly bursts: readonly Burst[];
  readonly faults: readonly Fault[];
  /** Undefined: there is none. */
  readonly audience?: AudiencePlan | undefined;
  /** When the last burst and fault is over. */
  readonly troubledMs: number;
}

export interface DestinationPlan {
  readonly id: string;
  readonly urls: readonly EndpointPlan[];
  readonly maxInFlight: number | undefined;
  readonly rateLimit: number | undefined;
}

export interface EndpointPlan {
  readonly url: string;
  readonly latencyMs: readonly [number, number];
  /** Requests that it works on at a time; others wait in it. */
  readonly capacity: number;
  readonly troubles: readonly Trouble[];
  /** From then on it answers 503, for ever. */
  readonly goneFromMs: number | undefined;
}

export const troubleKinds = [
  'hangs',
  'answers 503',
  'answers 429',
  'answers 410',
  'flaps',
  'refuses connections',
  'has no name',
  'has a bad certificate',
  'loses its answers',
] as const;

export interface Trouble {
  readonly kind: (typeof troubleKinds)[number];
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Who is in an audience, and when that is compared. */
export interface AudiencePlan {
  readonly changesPerTransaction: number;
  /** Whether all syncs run where the checkpoint of the one before is. */
  readonly keepsCheckpoint: boolean;
  readonly syncs: readonly SyncPlan[];
}

export interface SyncPlan {
  readonly atMs: number;
  /** Numbers of users. */
  readonly members: readonly number[];
  readonly killedAfterMs: number | undefined;
}

/** Calls of skewed users, at a rate, for a while. */
export interface Burst {
  readonly atMs: number;
  readonly calls: number;
  readonly perSecond: number;
}

export type Fault = { readonly atMs: number } & (
  | {
      readonly kind: 'kill';
      readonly role: 'worker' | 'router';
      readonly index: number;
      readonly backAfterMs: number;
    }
  | { readonly kind: 'restart'; readonly role: 'worker' | 'router'; readonly index: number }
  | {
      readonly kind: 'suspend';
      readonly role: 'worker' | 'router';
      readonly index: number;
      readonly forMs: number;
    }
  | { readonly kind: 'set clock'; readonly index: number; readonly byMs: number }
  | { readonly kind: 'scale up'; readonly forMs: number }
  | {
      readonly kind: 'broker';
      readonly node: number;
      readonly state: 'down' | 'suspended';
      readonly forMs: number;
    }
  | {
      readonly kind: 'cut off';
      readonly role: 'worker' | 'router';
      readonly index: number;
      /** Undefined: from all. */
      readonly node: number | undefined;
      /** Connections break at once, or nothing is heard of them. */
      readonly breaks: boolean;
      readonly forMs: number;
    }
  | {
      readonly kind: 'take right away';
      readonly topic: TopicKind;
      readonly forMs: number;
    }
  | { readonly kind: 'move leaders' }
  | { readonly kind: 'weather'; readonly weather: Weather; readonly forMs: number }
  | { readonly kind: 'change'; readonly destination: number }
  | { readonly kind: 'pause'; readonly destination: number; readonly forMs: number }
  | { readonly kind: 'delete user'; readonly user: number }
);

/** Topics that roles read. */
export type TopicKind = 'ingest' | 'delivery' | 'retry' | 'deletions' | 'pauses';
const topicKinds: readonly TopicKind[] = ['ingest', 'delivery', 'retry', 'deletions', 'pauses'];

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

/** Of so many seeds, one lasts for minutes only; all others for longer than the retry window. */
const shortEach = 4;

/** The scenario of a seed. */
export function makeScenario(seed: number): Scenario {
  const random = seededRandom(seed * 7_919 + 13);
  const whole = (least: number, most: number): number =>
    Math.floor(least + (most - least + 1) * random());
  const oneOf = <T>(items: readonly T[]): T => items[whole(0, items.length - 1)] as T;
  const chance = (share: number): boolean => random() < share;
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
          state: oneOf(['down', 'suspended']),
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
  const scenario: Scenario = {
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
    troubledMs,
  };
  if (isCrowd(seed)) return makeCrowd(seededRandom(seed * 15_485_863 + 3), scenario);
  // Of its own chance, so that all else stays as it is.
  const audienceRandom = seededRandom(seed * 104_729 + 7);
  return audienceRandom() < audienceShare
    ? { ...scenario, audience: makeAudience(audienceRandom, at) }
    : scenario;
}

/** So many events take as long as those of thirty scenarios. */
const crowdEach = 197;

/** Whether the seed's scenario has more events than windows hold. */
export function isCrowd(seed: number): boolean {
  return seed % crowdEach === 0;
}

/** DuckDB takes twice as long for a few syncs as all the rest of a scenario. */
const audienceShare = 1 / 50;
const audienceUsers = 12;

/** Some syncs near one another and near what goes wrong, so that they meet, and are cut off. */
function makeAudience(random: () => number, at: () => number): AudiencePlan {
  const chance = (share: number): boolean => random() < share;
  const everyone = Array.from({ length: audienceUsers }, (_, index) => index);
  let members = everyone;
  const times: number[] = [];
  while (times.length < 4) {
    const atMs = at();
    times.push(atMs);
    if (chance(0.4)) times.push(atMs + Math.floor(random() ** 2 * 2 * secondMs));
  }
  const syncs = times
    .toSorted((a, b) => a - b)
    .map((atMs): SyncPlan => {
      const turned = (index: number): boolean => members.includes(index) !== chance(0.3);
      members = everyone.filter(turned);
      const killedAfterMs = chance(0.4) ? Math.floor(random() ** 2 * 3 * secondMs) : undefined;
      return { atMs, members, killedAfterMs };
    });
  return { changesPerTransaction: chance(0.7) ? 1 : 1_000, keepsCheckpoint: chance(0.5), syncs };
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
