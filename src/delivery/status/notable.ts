import { settledMs } from '../../event/destination-health.ts';
import type { UrlStatus } from '../../event/destination-status.ts';
import type { DestinationReport } from './destination-reports.ts';

/** A change by a third. Smaller changes of a figure are not worth a record. */
const notableOctaves = 0.4;

/**
 * The part of a report that later ones are compared with. It is kept for each destination, and a whole report would
 * take ten times as much memory.
 */
export interface Gist {
  /** State and URLs, as one text. */
  readonly exact: string;
  readonly waiting: number;
  readonly deliveredPerMinute: number;
  readonly failedPerMinute: number;
  readonly p99Ms: number;
}

export function gistOf(report: DestinationReport): Gist {
  const { at, state, since, urls, perMinute, p99Ms = 0 } = report;
  return {
    exact: JSON.stringify([state, since, ...urls.map((url) => exactly(url, Date.parse(at)))]),
    waiting: waitingOf(report),
    deliveredPerMinute: perMinute.delivered,
    failedPerMinute: perMinute.failed,
    p99Ms,
  };
}

/** Whether readers of the one report need the other. */
export function isNotable(former: Gist, gist: Gist): boolean {
  return (
    former.exact !== gist.exact ||
    differ(former.waiting, gist.waiting) ||
    differ(former.deliveredPerMinute, gist.deliveredPerMinute) ||
    differ(former.failedPerMinute, gist.failedPerMinute) ||
    differ(former.p99Ms, gist.p99Ms)
  );
}

/** The destination is well, gets no events, and none waits; the last thing that it did was no failure. */
export function isQuiet(report: DestinationReport): boolean {
  const { state, urls, perMinute, inFlight } = report;
  const isIdle = perMinute.delivered === 0 && perMinute.failed === 0 && inFlight === 0;
  const hasFailed = urls.some(({ failingSince }) => failingSince !== undefined);
  return state === 'ok' && isIdle && !hasFailed && waitingOf(report) === 0;
}

function waitingOf({ waiting }: DestinationReport): number {
  return Object.values(waiting.tiers).reduce((sum, events) => sum + events, waiting.here);
}

/** Changed times of answers alone do not matter. */
function exactly(
  { url, breaker, failingSince, nextProbe, lastAnswer }: UrlStatus,
  atMs: number,
): readonly unknown[] {
  const { outcome, status, detail } = lastAnswer ?? {};
  const isSettled = failingSince !== undefined && atMs - Date.parse(failingSince) >= settledMs;
  return [url, breaker, isSettled, nextProbe, outcome, status, detail];
}

function differ(former: number, figure: number): boolean {
  return Math.abs(Math.log2(former + 1) - Math.log2(figure + 1)) > notableOctaves;
}
