import type { WithUid } from './uid.ts';

/**
 * A record of the compacted topic `destination-status`: one worker's report on itself, or on one destination.
 * Reports on destinations hold as long as the worker's report on itself does. Times are ISO 8601, in UTC. The
 * JSON Schema is `src/schemas/destination-status.json`.
 */
export type StatusRecord = WorkerStatus | DestinationStatus;

/** Written every few seconds. It refreshes all reports of the worker. */
export interface WorkerStatus {
  readonly kind: 'worker';
  /** Identifies one process. After a restart, the worker has another id. */
  readonly worker: string;
  readonly at: string;
  /** After this time, no report of the worker counts. */
  readonly expiresAt: string;
  readonly startedAt: string;
  readonly inFlight: number;
  readonly queued: number;
  /** The worker can reach hardly any endpoint, because its own network fails. */
  readonly isCutOff: boolean;
  /** For each topic that it reads: records behind, and since when the oldest one has been in flight. */
  readonly topics: Readonly<Record<string, { readonly lag: number; readonly oldestMs: number }>>;
}

/**
 * The states that workers report of a destination, the worst first:
 * unreadable: its secrets cannot be decrypted here; failing: a URL has failed, or refused, everything
 * lately; held: it asked to be left alone (429, `Retry-After`); saturated: it gets more than it takes;
 * slow: it takes more than a second for an event; limited: its own rate limit makes events wait;
 * paused: an operator stopped it, and its events are kept.
 */
export const destinationStates = [
  'unreadable',
  'failing',
  'held',
  'saturated',
  'slow',
  'limited',
  'paused',
  'disabled',
  'ok',
] as const;

export type DestinationState = (typeof destinationStates)[number];

/** Events do not get through, and somebody should be told. */
export function isTrouble(state: DestinationState): boolean {
  return state === 'unreadable' || state === 'failing' || state === 'held';
}

export interface DestinationStatus extends WithUid {
  readonly kind: 'destination';
  readonly worker: string;
  readonly at: string;
  readonly destination: string;
  readonly state: DestinationState;
  /** Absent if the destination has been well for long. */
  readonly since?: string;
  /** Held until then, or its first URL is tried again. */
  readonly until?: string;
  readonly urls: readonly UrlStatus[];
  /** Events: in the worker's memory, and in each retry tier, as far as it was read. */
  readonly waiting: {
    readonly here: number;
    readonly tiers: Readonly<Record<string, number>>;
    /** The due times of each tier; absent in what workers of a former release say. */
    readonly due?: Readonly<Record<string, DueSpan>>;
  };
  readonly inFlight: number;
  /** The time at which Kafka took the oldest of them, and the one at which the first is given up. */
  readonly oldest?: string;
  readonly deadline?: string;
  /** Events delivered in the last three minutes, and attempts that were no delivery. */
  readonly perMinute: { readonly delivered: number; readonly failed: number };
  /** The duration of attempts in that time. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** The first and the last event of a retry tier are due in between, to an eighth of the tier's delay. */
export interface DueSpan {
  readonly from: string;
  readonly until: string;
}

export interface UrlStatus {
  /** Without credentials and query. */
  readonly url: string;
  /** It is `open` also while the URL's authorization server gives no token, as `lastAnswer` tells then. */
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Since when it has failed or refused everything. */
  readonly failingSince?: string;
  readonly lastAnswer?: LastAnswer;
  readonly nextProbe?: string;
  /** Since when it has taken no compressed body: it answered 415, and gets all uncompressed. */
  readonly uncompressedSince?: string;
}

/** The result of the last request that says something of the endpoint. */
export interface LastAnswer {
  readonly at: string;
  readonly outcome: 'delivered' | 'failed' | 'refused';
  readonly status?: number;
  readonly detail?: string;
  /** The beginning of its body, if it was no delivery. */
  readonly answer?: string;
}

/** Every destination that has traffic or trouble is written anew within this time, whatever happens. */
export const statusRefreshMs = 300_000;

/** The worker's own record has no destination. Neither holds a slash. */
export function statusKey(worker: string, destination = ''): string {
  return `${destination}/${worker}`;
}

/** Undefined for what is none, or of a kind that this version does not know. */
export function decodeStatus(value: Buffer): StatusRecord | undefined {
  try {
    const json = JSON.parse(value.toString()) as StatusRecord | null;
    return json?.kind === 'worker' || json?.kind === 'destination' ? json : undefined;
  } catch {
    return undefined;
  }
}
