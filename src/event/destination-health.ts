import {
  isTrouble,
  type DestinationStatus,
  type UrlStatus,
  type WorkerStatus,
} from './destination-status.ts';
import { unseen, viewOf, type DestinationView } from './destination-view.ts';

/**
 * The states of a destination, the worst first. Beside those that workers report:
 * losing: some of its events are given up for good, and others arrive;
 * unknown: nobody reports on it, or what is known is older than its last event.
 */
export const destinationHealths = [
  'unreadable',
  'failing',
  'held',
  'losing',
  'saturated',
  'slow',
  'limited',
  'unknown',
  'paused',
  'disabled',
  'ok',
] as const;

export type DestinationHealth = (typeof destinationHealths)[number];

/** The ends of a destination's attempts, as far back as they are kept. Times are epoch milliseconds. */
export interface Past {
  readonly deliveredMs: number | undefined;
  /** Attempts since the last delivery that were none. */
  readonly badInRow: number;
  /** The first and the last of them. */
  readonly badSinceMs: number | undefined;
  readonly badMs: number | undefined;
  /** The last of them was refused for good, and not only failed. */
  readonly isRefused: boolean;
  /** In the last hour; undefined: only the workers' rates tell. */
  readonly deliveredLately: number | undefined;
  /** Since an event was last refused or given up. */
  readonly deliveredSinceLoss: number;
}

/** Everything that is known of a destination, from all sources together. */
export interface Evidence {
  readonly configured: 'enabled' | 'disabled' | 'paused' | 'unreadable';
  /** True if a worker lives and can be heard. */
  readonly isWatched: boolean;
  /** The reports of living workers; undefined: none speaks of it, as with one that had no event for minutes. */
  readonly view: DestinationView | undefined;
  /** The result of `firstFailure` for the same reports. */
  readonly failure: FirstFailure | undefined;
  /** Undefined: nobody has read its attempts up to now. */
  readonly past: Past | undefined;
  /** Events that became dead letters in the last hour, and in the last three minutes, over which workers count too. */
  readonly givenUp: { readonly lastHour: number; readonly justNow: number };
}

/** An endpoint's failure that nothing has followed. */
export interface FirstFailure {
  readonly since: string;
  readonly isRefused: boolean;
}

export const noneGivenUp: Evidence['givenUp'] = { lastHour: 0, justNow: 0 };

export interface Health {
  readonly state: DestinationHealth;
  /** ISO 8601. */
  readonly since?: string | undefined;
}

/** A failure that no success has followed for so long is told, even if it is the only one. */
export const settledMs = 1_000;
/** So many failures in a row make an endpoint failing, as in `standing.ts`; fewer lose events. */
const failingInRow = 5;
/** The index is behind the workers for less than that. */
const indexedMs = 10_000;
/** The share of given up events from which others should look at it. */
const losingShare = 0.01;

/** Decides how a destination is, from workers' reports and what became of its events; no other code does. */
export function healthOf(evidence: Evidence, nowMs: number): Health {
  const { configured, isWatched, view, failure, past } = evidence;
  if (configured !== 'enabled') return { state: configured, since: view?.since };
  if (!isWatched) return { state: 'unknown' };
  if (view !== undefined && isTrouble(view.state)) return { state: view.state, since: view.since };
  if (failure !== undefined)
    return { state: failure.isRefused ? 'losing' : 'failing', since: failure.since };
  const before = remembered(past, view, nowMs);
  if (before !== undefined) return before;
  if (isLosing(evidence)) return { state: 'losing' };
  if (view !== undefined && view.state !== 'ok') return { state: view.state, since: view.since };
  return { state: isProven(view, past) ? 'ok' : 'unknown', since: view?.since };
}

/** Events do not arrive, or not all, and somebody should be told. */
export function isUrgent(state: DestinationHealth): boolean {
  return ['unreadable', 'failing', 'held', 'losing'].includes(state);
}

/** Tells whether a URL takes events although another one fails, so that all of them arrive. */
export function hasWellUrl({ urls }: { readonly urls: readonly UrlStatus[] }): boolean {
  return urls.some(
    ({ breaker, failingSince, lastAnswer }) =>
      breaker === 'closed' && failingSince === undefined && lastAnswer?.outcome === 'delivered',
  );
}

/**
 * The first failures after a success, as soon as no success has followed for a second. Workers report an endpoint as
 * failing only once it has failed repeatedly.
 * @param said each worker's report on one destination
 */
export function firstFailure(said: readonly DestinationStatus[]): FirstFailure | undefined {
  const delivered = said.flatMap(({ urls }) => urls.map(deliveredAtMs));
  for (const { at, urls } of said) {
    if (hasWellUrl({ urls })) continue;
    for (const { failingSince, lastAnswer } of urls) {
      if (failingSince === undefined || lastAnswer === undefined) continue;
      const isSettled = Date.parse(at) - Date.parse(failingSince) >= settledMs;
      if (isSettled && Math.max(...delivered) < Date.parse(lastAnswer.at))
        return { since: failingSince, isRefused: lastAnswer.outcome === 'refused' };
    }
  }
  return undefined;
}

/** The last thing known of it is that an event did not arrive, whenever that was. */
function remembered(
  past: Past | undefined,
  view: DestinationView | undefined,
  nowMs: number,
): Health | undefined {
  if (past?.badMs === undefined) return undefined;
  const { badInRow, badMs, badSinceMs = badMs, isRefused } = past;
  const deliveredMs = Math.max(...(view?.urls ?? []).map(deliveredAtMs));
  if (deliveredMs > badMs || nowMs - badMs < indexedMs) return undefined;
  const isFailing = badInRow >= failingInRow || !isRefused;
  return {
    state: isFailing ? 'failing' : 'losing',
    since: new Date(badSinceMs).toISOString(),
  };
}

function isLosing({ givenUp, past, view }: Evidence): boolean {
  if ((past?.deliveredSinceLoss ?? 0) * losingShare >= 1) return false;
  const isMuch = (lost: number, delivered: number): boolean =>
    lost > 0 && lost >= losingShare * (lost + delivered);
  if (past?.deliveredLately !== undefined) return isMuch(givenUp.lastHour, past.deliveredLately);
  const { delivered } = view?.perMinute ?? { delivered: 0 };
  return isMuch(givenUp.justNow, 3 * delivered) || isMuch(givenUp.lastHour, 60 * delivered);
}

/** The last event arrived, or there never was one. */
function isProven(view: DestinationView | undefined, past: Past | undefined): boolean {
  const isDelivering = (view?.perMinute.delivered ?? 0) > 0;
  if (isDelivering || view?.urls.some((url) => deliveredAtMs(url) > 0) === true) return true;
  if (past === undefined) return false;
  if (past.deliveredMs !== undefined) return true;
  // An event that waits for its first answer proves nothing.
  return view === undefined || view.waiting.total + view.inFlight === 0;
}

function deliveredAtMs({ lastAnswer }: UrlStatus): number {
  return lastAnswer?.outcome === 'delivered' ? Date.parse(lastAnswer.at) : -Infinity;
}

/** A destination as everything that is known of it shows it. */
export interface JudgedView extends Omit<DestinationView, 'state'> {
  readonly state: DestinationHealth;
  /** The time at which the workers that report on it were last heard; undefined: none was. */
  readonly asOf: string | undefined;
}

/** The reports of workers. */
export interface Said {
  /** The workers that live. */
  readonly workers: readonly WorkerStatus[];
  /** Each living worker's report, by destination. */
  readonly destinations: ReadonlyMap<string, readonly DestinationStatus[]>;
  /** The time at which a worker was last heard, also one that is gone. */
  readonly heard: string | undefined;
}

/** Everything else that is known of a destination. */
export interface Known extends Pick<Evidence, 'configured' | 'past' | 'givenUp'> {
  readonly pausedSince: string | undefined;
  /** True if reports are as new as they can be. */
  readonly isHeard: boolean;
}

export function judgedView(id: string, said: Said, known: Known, nowMs: number): JudgedView {
  const { configured, past, givenUp, pausedSince, isHeard } = known;
  const reports = said.destinations.get(id) ?? [];
  const view = reports.length === 0 ? undefined : viewOf(id, reports);
  const isWatched = isHeard && said.workers.length > 0;
  const failure = firstFailure(reports);
  const health = healthOf({ configured, isWatched, view, failure, past, givenUp }, nowMs);
  return {
    ...(view ?? unseen(id)),
    state: health.state,
    since: health.state === 'paused' ? (pausedSince ?? health.since) : health.since,
    asOf: heardOf(reports, said),
  };
}

function heardOf(
  reports: readonly DestinationStatus[],
  { workers, heard }: Said,
): string | undefined {
  const reporting = new Set(reports.map(({ worker }) => worker));
  const times = workers.filter(({ worker }) => reporting.has(worker)).map(({ at }) => at);
  return times.sort()[0] ?? heard;
}

/** The worst first. Equal ones by how long that has lasted, then by waiting events and traffic. */
export function byUrgency(a: JudgedView, b: JudgedView): number {
  const states = destinationHealths.indexOf(a.state) - destinationHealths.indexOf(b.state);
  if (states !== 0) return states;
  if (isUrgent(a.state) && a.since !== b.since) return (a.since ?? '~') < (b.since ?? '~') ? -1 : 1;
  if (a.waiting.total !== b.waiting.total) return b.waiting.total - a.waiting.total;
  const delivered = b.perMinute.delivered - a.perMinute.delivered;
  if (delivered !== 0) return delivered;
  return a.destination < b.destination ? -1 : 1;
}
