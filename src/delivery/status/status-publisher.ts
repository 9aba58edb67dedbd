import { settledMs } from '../../event/destination-health.ts';
import {
  isTrouble,
  type DestinationState,
  statusKey,
  statusRefreshMs,
  type DestinationStatus,
  type UrlStatus,
  type WorkerStatus,
} from '../../event/destination-status.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { SteadyClock, Timer } from '../../ops/clock.ts';
import { waitAtMost } from '../../ops/wait.ts';
import type { DestinationReport, DestinationReports } from './destination-reports.ts';

export interface StatusPublisherOptions {
  readonly clock: SteadyClock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly producer: Pick<Producer, 'produce' | 'isFull'>;
  readonly topic: string;
  /** An id of this process that no other process ever has. */
  readonly worker: string;
  readonly reports: Pick<DestinationReports, 'ids' | 'of' | 'standing' | 'standings' | 'isInDoubt'>;
  /** The worker's report on itself. */
  readonly self: () => Pick<WorkerStatus, 'inFlight' | 'queued' | 'isCutOff' | 'topics'>;
}

const tickMs = 1_000;
/** Interval of the record that refreshes everything that a worker has reported. */
const heartbeatMs = 5_000;
/** A worker's records hold for so long after its last heartbeat. Two heartbeats may be missed. */
export const wordHoldsMs = 20_000;
/** Time between two checks of a destination whose state stays as it is, and so between two of its records. */
const lookAgainMs = { trouble: 5_000, strained: 15_000, ok: 60_000 } as const;
/** Least time between two records about changes of one destination's state. */
const leastApartMs = 2_000;
/** Least time between two records about first failures: an endpoint that fails now and then costs no more. */
const doubtsApartMs = 30_000;
/**
 * Small changes of a destination in trouble are written after this time too: the time of the last answer,
 * the oldest event.
 */
const detailsMs = 30_000;
/** A tenth before the promised time, minus one check. */
const refreshMs = 0.9 * statusRefreshMs - lookAgainMs.ok;
/**
 * Limit in one tick. A worker that has just started with thousands of destinations writes the rest in the
 * next ticks.
 */
const mostInTick = 500;
/** Limit of destinations that are looked at in one tick, beside those that are not well. */
const mostLooks = 5_000;
/**
 * Bound on records that the producer has and Kafka has not acknowledged. Beyond it nothing is written until
 * there is room.
 */
const mostAhead = 2_000;

/** Times are of the steady clock. */
interface Written {
  /** Undefined while the topic has no record of the destination, because it is quiet. */
  gist: Gist | undefined;
  state: DestinationState;
  /** The record tells of a first failure. */
  isInDoubt: boolean;
  /** The time of the last record that told of one. */
  doubtMs: number;
  writtenMs: number;
  lookMs: number;
  round: number;
}

/**
 * Writes this worker's view of destinations into the topic `destination-status`, changes only. Nothing waits
 * for these writes: while Kafka does not accept them, nothing is written, and afterwards what is true by
 * then.
 */
export class StatusPublisher {
  readonly #options: StatusPublisherOptions;
  readonly #written = new Map<string, Written>();
  readonly #startedAt: string;
  #timer: Timer;
  /** The time of the next heartbeat, by the steady clock. */
  #heartbeatDueMs = -Infinity;
  #ahead = 0;
  #mayWrite = 0;
  /** The ids that are left of the round, which takes several ticks with many destinations. */
  #ids: Generator<string, void, undefined>;
  #round = 0;
  #onEmpty: () => void = () => undefined;

  constructor(options: StatusPublisherOptions) {
    this.#options = options;
    this.#ids = options.reports.ids();
    this.#startedAt = new Date(options.clock.now()).toISOString();
    this.#timer = options.clock.after(tickMs, this.#tick);
  }

  /**
   * Withdraws everything that was reported, and waits for Kafka's acknowledgement, but no longer than
   * `timeoutMs`.
   */
  async close(timeoutMs: number): Promise<void> {
    this.#timer.cancel();
    for (const [id, { gist }] of this.#written) if (gist !== undefined) this.#write(id, null);
    // Without the worker's own record, its other records no longer count.
    this.#write(undefined, null, { mayWait: false });
    this.#written.clear();
    await waitAtMost(
      timeoutMs,
      new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      }),
    );
  }

  readonly #tick = (): void => {
    const { clock, producer } = this.#options;
    this.#timer = clock.after(tickMs, this.#tick);
    if (this.#ahead >= mostAhead || producer.isFull) return;
    const nowMs = clock.steadyNow();
    if (nowMs >= this.#heartbeatDueMs) {
      this.#heartbeatDueMs = nowMs + heartbeatMs;
      this.#writeSelf();
    }
    this.#mayWrite = mostInTick;
    for (const [id] of this.#options.reports.standings()) this.#visit(id, nowMs);
    for (let looks = 0; looks < mostLooks; looks += 1) {
      const { value: id } = this.#ids.next();
      if (id === undefined) {
        this.#endRound();
        return;
      }
      const known = this.#visit(id, nowMs);
      if (known !== undefined) known.round = this.#round;
    }
  };

  /** @returns what was written of the destination before */
  #visit(id: string, nowMs: number): Written | undefined {
    const known = this.#written.get(id);
    if (this.#mayWrite > 0 && this.#isDue(id, known, nowMs) && this.#look(id, known, nowMs))
      this.#mayWrite -= 1;
    return known;
  }

  #isDue(id: string, known: Written | undefined, nowMs: number): boolean {
    if (known === undefined || nowMs >= known.lookMs) return true;
    if (nowMs - known.writtenMs < leastApartMs) return false;
    const { reports } = this.#options;
    if ((reports.standing(id)?.state ?? 'ok') !== known.state) return true;
    const isInDoubt = reports.isInDoubt(id);
    return isInDoubt !== known.isInDoubt && (!isInDoubt || nowMs - known.doubtMs >= doubtsApartMs);
  }

  /** @returns whether something was written */
  #look(id: string, known: Written | undefined, nowMs: number): boolean {
    const report = this.#options.reports.of(id);
    const { state } = report;
    const former = known?.gist;
    const gist = gistOf(report);
    const next = known ?? {
      gist: undefined,
      state,
      isInDoubt: false,
      doubtMs: -Infinity,
      writtenMs: -Infinity,
      lookMs: 0,
      round: this.#round,
    };
    this.#written.set(id, next);
    next.state = state;
    const isInDoubt = this.#options.reports.isInDoubt(id);
    if (isInDoubt && !next.isInDoubt) next.doubtMs = nowMs;
    next.isInDoubt = isInDoubt;
    next.lookMs = nowMs + this.#lookAfterMs(next, known === undefined);
    if (isQuiet(report)) {
      next.gist = undefined;
      if (former !== undefined) this.#write(id, null);
      return former !== undefined;
    }
    const agoMs = nowMs - next.writtenMs;
    const isWanted =
      former === undefined ||
      agoMs >= refreshMs ||
      isNotable(former, gist) ||
      (isTrouble(state) && agoMs >= detailsMs);
    if (!isWanted) return false;
    next.gist = gist;
    next.writtenMs = nowMs;
    this.#write(id, JSON.stringify(this.#statusOf(report)));
    return true;
  }

  #lookAfterMs({ state, isInDoubt }: Written, isNew: boolean): number {
    if (isTrouble(state)) return lookAgainMs.trouble;
    if (state !== 'ok' || isInDoubt) return lookAgainMs.strained;
    // Soon for a destination that has just begun. The times of thousands that begin together are spread.
    return isNew ? lookAgainMs.strained * (0.5 + this.#options.random()) : lookAgainMs.ok;
  }

  /** All destinations have been looked at: what was written of others is withdrawn. */
  #endRound(): void {
    for (const [id, { round, gist }] of this.#written) {
      if (round === this.#round) continue;
      this.#written.delete(id);
      if (gist !== undefined) this.#write(id, null);
    }
    this.#round += 1;
    this.#ids = this.#options.reports.ids();
  }

  #statusOf(report: DestinationReport): DestinationStatus {
    return { kind: 'destination', worker: this.#options.worker, ...report };
  }

  #writeSelf(): void {
    const nowMs = this.#options.clock.now();
    const status: WorkerStatus = {
      kind: 'worker',
      worker: this.#options.worker,
      at: new Date(nowMs).toISOString(),
      expiresAt: new Date(nowMs + wordHoldsMs).toISOString(),
      startedAt: this.#startedAt,
      ...this.#options.self(),
    };
    this.#write(undefined, JSON.stringify(status));
  }

  /** Without an id, writes the worker's own record. */
  #write(id: string | undefined, value: string | null, { mayWait } = { mayWait: true }): void {
    const { producer, topic, worker } = this.#options;
    const key = statusKey(worker, id);
    this.#ahead += 1;
    // A record that Kafka refuses is written again when it has changed.
    producer.produce({ topic, partition: 0, key, value, mayWait }, () => {
      this.#ahead -= 1;
      if (this.#ahead === 0) this.#onEmpty();
    });
  }
}

/** A change by a third. Smaller changes of a figure are not worth a record. */
const notableOctaves = 0.4;

/**
 * The part of a report that later ones are compared with. It is kept for each destination, and a whole report would
 * take ten times as much memory.
 */
interface Gist {
  /** State and URLs, as one text. */
  readonly exact: string;
  readonly waiting: number;
  readonly deliveredPerMinute: number;
  readonly failedPerMinute: number;
  readonly p99Ms: number;
}

function gistOf(report: DestinationReport): Gist {
  const { at, state, since, urls, perMinute, p99Ms = 0 } = report;
  return {
    exact: JSON.stringify([state, since, ...urls.map((url) => exactly(url, Date.parse(at)))]),
    waiting: waitingOf(report),
    deliveredPerMinute: perMinute.delivered,
    failedPerMinute: perMinute.failed,
    p99Ms,
  };
}

/** The reports differ so much that readers of the one need the other. */
function isNotable(former: Gist, gist: Gist): boolean {
  return (
    former.exact !== gist.exact ||
    differ(former.waiting, gist.waiting) ||
    differ(former.deliveredPerMinute, gist.deliveredPerMinute) ||
    differ(former.failedPerMinute, gist.failedPerMinute) ||
    differ(former.p99Ms, gist.p99Ms)
  );
}

/** The destination is well, gets no events, and none waits; the last thing that it did was no failure. */
function isQuiet(report: DestinationReport): boolean {
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
  { url, breaker, failingSince, nextProbe, lastAnswer, uncompressedSince }: UrlStatus,
  atMs: number,
): readonly unknown[] {
  const { outcome, status, detail } = lastAnswer ?? {};
  const isSettled = failingSince !== undefined && atMs - Date.parse(failingSince) >= settledMs;
  return [url, breaker, isSettled, nextProbe, outcome, status, detail, uncompressedSince];
}

function differ(former: number, figure: number): boolean {
  return Math.abs(Math.log2(former + 1) - Math.log2(figure + 1)) > notableOctaves;
}
