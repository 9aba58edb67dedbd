import {
  destinationHealths,
  firstFailure,
  healthOf,
  isUrgent,
  type DestinationHealth,
  type Evidence,
} from './destination-health.ts';
import type { DestinationStatus, WorkerStatus } from './destination-status.ts';
import { unseen, viewOf, type DestinationView } from './destination-view.ts';

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
