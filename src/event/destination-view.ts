import {
  destinationStates,
  type DestinationState,
  type DestinationStatus,
  type DueSpan,
  type LastAnswer,
  type UrlStatus,
} from './destination-status.ts';

/** A destination as all workers together see it. Times are ISO 8601. */
export interface DestinationView {
  readonly destination: string;
  /** The worst state that a worker reports, and the earliest time since when. */
  readonly state: DestinationState;
  readonly since: string | undefined;
  readonly until: string | undefined;
  /** The newest answer of the worst URL. */
  readonly lastAnswer: LastAnswer | undefined;
  readonly urls: readonly UrlStatus[];
  /** Events in the workers' memory, and in each retry tier, as far as those were read. */
  readonly waiting: {
    readonly total: number;
    readonly here: number;
    readonly tiers: Readonly<Record<string, number>>;
    /** Nothing is known of a tier that a worker of a former release reads alone. */
    readonly due: Readonly<Record<string, DueSpan>>;
  };
  readonly inFlight: number;
  readonly oldest: string | undefined;
  readonly deadline: string | undefined;
  readonly perMinute: { readonly delivered: number; readonly failed: number };
  /** From the worker with the most attempts; the longest of any worker. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

/** @param said each worker's report on one destination; at least one */
export function viewOf(destination: string, said: readonly DestinationStatus[]): DestinationView {
  const state = worst(said.map((each) => each.state));
  const witnesses = said.filter((each) => each.state === state);
  const urls = mergeUrls(said.flatMap((each) => each.urls));
  const tiers: Record<string, number> = {};
  const due: Record<string, DueSpan> = {};
  for (const { waiting } of said) {
    for (const [tier, events] of Object.entries(waiting.tiers))
      tiers[tier] = (tiers[tier] ?? 0) + events;
    for (const [tier, span] of Object.entries(waiting.due ?? {}))
      due[tier] = spanning(due[tier] ?? span, span);
  }
  const here = sum(said.map(({ waiting }) => waiting.here));
  const busiest = said.reduce((a, b) => (attempts(b) > attempts(a) ? b : a));
  return {
    destination,
    state,
    since: first(witnesses.map(({ since }) => since)),
    until: first(witnesses.map(({ until }) => until)),
    lastAnswer: inQuestion(urls)?.lastAnswer,
    urls,
    waiting: { total: here + sum(Object.values(tiers)), here, tiers, due },
    inFlight: sum(said.map(({ inFlight }) => inFlight)),
    oldest: first(said.map(({ oldest }) => oldest)),
    deadline: first(said.map(({ deadline }) => deadline)),
    perMinute: {
      delivered: tenths(sum(said.map(({ perMinute }) => perMinute.delivered))),
      failed: tenths(sum(said.map(({ perMinute }) => perMinute.failed))),
    },
    p50Ms: busiest.p50Ms,
    p99Ms: said.reduce<number | undefined>(
      (most, { p99Ms }) => (p99Ms === undefined ? most : Math.max(most ?? 0, p99Ms)),
      undefined,
    ),
  };
}

/** A destination without reports. */
export function unseen(destination: string): DestinationView {
  return {
    destination,
    state: 'ok',
    since: undefined,
    until: undefined,
    lastAnswer: undefined,
    urls: [],
    waiting: { total: 0, here: 0, tiers: {}, due: {} },
    inFlight: 0,
    oldest: undefined,
    deadline: undefined,
    perMinute: { delivered: 0, failed: 0 },
    p50Ms: undefined,
    p99Ms: undefined,
  };
}

function worst(states: readonly DestinationState[]): DestinationState {
  return destinationStates.find((state) => states.includes(state)) ?? 'ok';
}

/**
 * For each URL: the report of the worker that has the most trouble with it, with the newest answer of any.
 */
function mergeUrls(all: readonly UrlStatus[]): UrlStatus[] {
  const merged = new Map<string, UrlStatus>();
  for (const url of all) {
    const known = merged.get(url.url);
    if (known === undefined) {
      merged.set(url.url, url);
      continue;
    }
    const [more, less] = badness(url) > badness(known) ? [url, known] : [known, url];
    const isNewer = (less.lastAnswer?.at ?? '') > (more.lastAnswer?.at ?? '');
    // The answer of a healthy worker would hide why another one fails.
    const mayTell = badness(more) === badness(less) && isNewer && less.lastAnswer !== undefined;
    const uncompressedSince = first([more.uncompressedSince, less.uncompressedSince]);
    merged.set(url.url, {
      ...more,
      ...(mayTell ? { lastAnswer: less.lastAnswer } : {}),
      ...(uncompressedSince === undefined ? {} : { uncompressedSince }),
    });
  }
  return [...merged.values()];
}

function badness({ breaker, failingSince }: UrlStatus): number {
  if (breaker !== 'closed') return 2;
  return failingSince === undefined ? 0 : 1;
}

function inQuestion(urls: readonly UrlStatus[]): UrlStatus | undefined {
  return urls.toSorted((a, b) => badness(b) - badness(a))[0];
}

function attempts({ perMinute }: DestinationStatus): number {
  return perMinute.delivered + perMinute.failed;
}

function first(times: readonly (string | undefined)[]): string | undefined {
  return times.filter((time) => time !== undefined).sort()[0];
}

function spanning(a: DueSpan, b: DueSpan): DueSpan {
  return {
    from: a.from < b.from ? a.from : b.from,
    until: a.until > b.until ? a.until : b.until,
  };
}

function tenths(number: number): number {
  return Math.round(number * 10) / 10;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
