import { formatDuration } from '../../duration.ts';
import type {
  DestinationStatus,
  DueSpan,
  LastAnswer,
  UrlStatus,
} from '../../event/destination-status.ts';
import type { SteadyClock } from '../../ops/clock.ts';
import type { Figures } from '../lane/figures.ts';
import type { Endpoint } from '../lane/endpoint.ts';
import type { Lane } from '../lane/lane.ts';
import { bodyText } from '../kept-answer.ts';
import { outcomeNames } from '../outcome.ts';
import type { DestinationWatch } from './destination-watch.ts';
import type { Standing, UrlFacts } from './standing.ts';
import type { WaitingByDestination } from './waiting-later.ts';

/** A worker's view of a destination. */
export type DestinationReport = Omit<DestinationStatus, 'kind' | 'worker'>;

export interface DestinationReportsOptions {
  readonly clock: SteadyClock;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly watch: DestinationWatch;
  readonly waitingLater: WaitingByDestination;
  /** The uid of the destination that has the id now. */
  readonly uidOf: (destinationId: string) => string | undefined;
}

const mostSaidBytes = 200;
const noFigures: Figures = {
  deliveredPerMinute: 0,
  failedPerMinute: 0,
  p50Ms: undefined,
  p99Ms: undefined,
};

/** A worker's reports on the destinations for which it has a lane or waiting events. */
export class DestinationReports {
  readonly #options: DestinationReportsOptions;

  constructor(options: DestinationReportsOptions) {
    this.#options = options;
  }

  /** The ids of these destinations, each once. */
  *ids(): Generator<string, void, undefined> {
    const { lanes, watch, waitingLater } = this.#options;
    yield* new Set([
      ...lanes.keys(),
      ...waitingLater.destinations(),
      ...Array.from(watch.standings(), ([id]) => id),
    ]);
  }

  /** @returns undefined if the destination is well */
  standing(id: string): Standing | undefined {
    return this.#options.watch.standing(id);
  }

  /** The destination has failed just now, and is not called failing yet. */
  isInDoubt(id: string): boolean {
    return this.#options.watch.isInDoubt(id);
  }

  /** The states of destinations that are not well, or were not just now. */
  standings(): Iterable<readonly [string, Standing]> {
    return this.#options.watch.standings();
  }

  of(id: string): DestinationReport {
    const { clock, lanes, watch, waitingLater, uidOf } = this.#options;
    const uid = uidOf(id);
    const nowMs = clock.now();
    const lane = lanes.get(id);
    const later = waitingLater.of({ id, uid });
    const standing = watch.standing(id);
    const { deliveredPerMinute, failedPerMinute, p50Ms, p99Ms } =
      lane?.figures.at(clock.steadyNow()) ?? noFigures;
    const here = lane?.waiting.earliest();
    const oldestMs = Math.min(here?.oldestMs ?? Infinity, later.oldestMs ?? Infinity);
    const deadlineMs = Math.min(here?.deadlineMs ?? Infinity, later.deadlineMs ?? Infinity);
    const urls = (lane?.endpoints.all ?? []).map(urlStatus);
    const tiers: Record<string, number> = {};
    const due: Record<string, DueSpan> = {};
    for (const [tierMs, { events, dueFromMs, dueUntilMs }] of later.byTierMs) {
      tiers[formatDuration(tierMs)] = events;
      due[formatDuration(tierMs)] = { from: isoTime(dueFromMs), until: isoTime(dueUntilMs) };
    }
    return {
      at: isoTime(nowMs),
      destination: id,
      ...(uid === undefined ? {} : { uid }),
      state: standing?.state ?? 'ok',
      ...optional('since', standing?.sinceMs),
      ...optional('until', untilMs(lane, nowMs)),
      urls,
      waiting: { here: lane?.waiting.size ?? 0, tiers, due },
      inFlight: lane?.inFlight ?? 0,
      ...optional('oldest', oldestMs),
      ...optional('deadline', deadlineMs),
      perMinute: { delivered: rounded(deliveredPerMinute), failed: rounded(failedPerMinute) },
      ...(p50Ms === undefined ? {} : { p50Ms }),
      ...(p99Ms === undefined ? {} : { p99Ms }),
    };
  }
}

function untilMs(lane: Lane | undefined, nowMs: number): number | undefined {
  if (lane === undefined) return undefined;
  const { leftMs } = lane.hold;
  if (leftMs > 0) return nowMs + leftMs;
  return Math.min(...lane.endpoints.all.map(({ told }) => told.probeAtMs ?? Infinity));
}

function urlStatus({ prepared, told }: Endpoint): UrlStatus {
  return {
    url: prepared.publicUrl,
    breaker: told.breaker,
    ...optional('failingSince', told.failingSinceMs),
    ...lastAnswer(told),
    ...optional('nextProbe', told.probeAtMs),
    ...optional('uncompressedSince', prepared.compression?.refusedSinceMs),
  };
}

function lastAnswer({ last, lastMs = 0 }: UrlFacts): { lastAnswer?: LastAnswer } {
  if (last === undefined) return {};
  const { kind, status } = last;
  const said = kind === 'delivered' ? undefined : last.answer;
  const answer = said === undefined ? undefined : bodyText(said, mostSaidBytes);
  return {
    lastAnswer: {
      at: isoTime(lastMs),
      outcome: outcomeNames[kind],
      ...(status === undefined ? {} : { status }),
      ...(kind === 'delivered' ? {} : { detail: last.detail }),
      ...(answer === undefined ? {} : { answer }),
    },
  };
}

function optional<Name extends string>(
  name: Name,
  timeMs: number | undefined,
): Partial<Record<Name, string>> {
  if (timeMs === undefined || timeMs === Infinity) return {};
  return { [name]: isoTime(timeMs) } as Record<Name, string>;
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** One decimal below ten, so that one event in three minutes is not shown as none. */
function rounded(perMinute: number): number {
  return perMinute < 10 ? Math.round(perMinute * 10) / 10 : Math.round(perMinute);
}
