import type { UrlStatus } from '../../event/destination-status.ts';
import type { DestinationReport } from './destination-reports.ts';

/** A change by a third. Smaller changes of a figure are not worth a record. */
const notableOctaves = 0.4;

/** Whether readers of the one report need the other. Changed times of answers alone do not matter. */
export function isNotable(former: DestinationReport, report: DestinationReport): boolean {
  return (
    former.state !== report.state ||
    former.since !== report.since ||
    former.urls.length !== report.urls.length ||
    report.urls.some((url, index) => isOther(former.urls[index], url)) ||
    differ(waitingOf(former), waitingOf(report)) ||
    differ(former.perMinute.delivered, report.perMinute.delivered) ||
    differ(former.perMinute.failed, report.perMinute.failed) ||
    differ(former.p99Ms ?? 0, report.p99Ms ?? 0)
  );
}

/** The destination is well, gets no events, and none waits. */
export function isQuiet(report: DestinationReport): boolean {
  const { state, perMinute, inFlight } = report;
  const isIdle = perMinute.delivered === 0 && perMinute.failed === 0 && inFlight === 0;
  return state === 'ok' && isIdle && waitingOf(report) === 0;
}

function waitingOf({ waiting }: DestinationReport): number {
  return Object.values(waiting.tiers).reduce((sum, events) => sum + events, waiting.here);
}

function isOther(former: UrlStatus | undefined, url: UrlStatus): boolean {
  return (
    former?.url !== url.url ||
    former.breaker !== url.breaker ||
    former.nextProbe !== url.nextProbe ||
    former.lastAnswer?.outcome !== url.lastAnswer?.outcome ||
    former.lastAnswer?.status !== url.lastAnswer?.status ||
    former.lastAnswer?.detail !== url.lastAnswer?.detail
  );
}

function differ(former: number, figure: number): boolean {
  return Math.abs(Math.log2(former + 1) - Math.log2(figure + 1)) > notableOctaves;
}
