import type { WindowLimits } from '../../../src/kafka/consume/window.ts';
import type { BatchRules, RetryRules } from '../../../src/resources/resource.ts';
import type { Weather } from './kafka/weather.ts';

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
  /** Each process is in the rack of one of the nodes, and reads from it if it can. */
  readonly hasRacks?: boolean;
  /** What healthy destinations feel of it is measured more strictly. */
  readonly day?: Day;
  /** What a worker may have in flight; undefined: as much as in production. */
  readonly budget?: WindowLimits;
  /** Undefined: the shortest that is allowed, with which what is sent too late has the most time to be. */
  readonly deletionDelayMs?: number;
  /** Undefined: there is none. */
  readonly audience?: AudiencePlan | undefined;
  /** When the last burst and fault is over. */
  readonly troubledMs: number;
}

export function deletionDelayMsOf({ deletionDelayMs = 5_000 }: Scenario): number {
  return deletionDelayMs;
}

/** What an ordinary day has beside healthy destinations. */
export const days = [
  'dead customers',
  'backlog',
  'unwritable topic',
  'lost broker',
  'many resumed',
  'applied again',
] as const;

export type Day = (typeof days)[number];

export interface DestinationPlan {
  readonly id: string;
  readonly urls: readonly EndpointPlan[];
  readonly maxInFlight: number | undefined;
  readonly rateLimit: number | undefined;
  /** Undefined: its events are in the topics that all share. */
  readonly dedicatedPartitions?: number;
  /** Its own rules. */
  readonly retry?: RetryRules | undefined;
  /** Undefined: it wants no strict order. */
  readonly orderForMs?: number;
  /** Undefined: each event goes out alone. */
  readonly batch?: BatchRules | undefined;
}

export interface EndpointPlan {
  readonly url: string;
  readonly latencyMs: readonly [number, number];
  /** Requests that it works on at a time; others wait in it. */
  readonly capacity: number;
  readonly troubles: readonly Trouble[];
  /** It says of each event of a batch what became of it. */
  readonly tellsApart?: boolean;
  /** From then on it is gone for ever. */
  readonly goneFromMs: number | undefined;
  /** What whoever comes to it then meets; default: it answers 503. */
  readonly gone?: 'refuses connections' | 'drops packets' | 'has no name';
}

export const troubleKinds = [
  'hangs',
  'answers 503',
  'answers 429',
  'answers 422',
  'flaps',
  'refuses connections',
  'has no name',
  'has a bad certificate',
  'loses its answers',
] as const;

export interface Trouble {
  /** The last ones only where `withOrder` or `withBatches` has them. */
  readonly kind: (typeof troubleKinds)[number] | 'fails some' | 'refuses some';
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
      readonly state: 'down' | 'suspended' | 'isolated';
      readonly forMs: number;
      /** With racks: who is near it is isolated with it. */
      readonly withRack?: boolean;
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
  | {
      /** Nobody can write to the dedicated topic of a destination, or to one of its partitions. */
      readonly kind: 'unwritable';
      readonly destination: number;
      readonly how: 'was deleted' | 'no right' | 'no leader';
      readonly forMs: number;
    }
  | { readonly kind: 'change'; readonly destination: number }
  | {
      /** Somebody applies the same configuration again and again. */
      readonly kind: 'apply again';
      readonly eachMs: number;
      readonly forMs: number;
    }
  | {
      /** An operator pauses a destination, and resumes it after that time. */
      readonly kind: 'pause';
      readonly destination: number;
      readonly forMs: number;
      /** How fast what was kept is sent; undefined: as fast as it is without being told. */
      readonly perSecond?: number;
      /** All that are paused then are resumed. */
      readonly endsAll?: boolean;
      readonly cuts?: readonly Cut[];
    }
  | {
      /** An operator sends dead letters again. */
      readonly kind: 'redrive';
      /** -1: those of all. */
      readonly destination: number;
      readonly perSecond: number;
      readonly cuts: readonly Cut[];
    }
  | {
      /** An operator has what waits for a destination sent at once. */
      readonly kind: 'retry';
      readonly destination: number;
      readonly cut?: Cut;
    }
  | { readonly kind: 'delete user'; readonly user: number }
);

/** Faults after which a process may not reach Kafka, or may be told what no longer holds. */
export const hidesKafka: ReadonlySet<Fault['kind']> = new Set([
  'broker',
  'weather',
  'cut off',
  'take right away',
]);

/** What befalls a run of an operator's command that has not ended by then. The first is for the first run, and so on. */
export interface Cut {
  readonly afterMs: number;
  readonly how: 'kill' | 'stop' | 'suspend' | 'cut off';
  /** It goes on, or is run again, after so long. */
  readonly forMs: number;
}

/** Topics that roles read. */
export type TopicKind = 'ingest' | 'delivery' | 'retry' | 'deletions' | 'pauses';
