import { isTrouble, type DestinationState } from '../../event/destination-state.ts';
import {
  statusKey,
  statusRefreshMs,
  type DestinationStatus,
  type WorkerStatus,
} from '../../event/destination-status.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { Clock, Timer } from '../../ops/clock.ts';
import { waitAtMost } from '../../ops/wait-at-most.ts';
import type { DestinationReport, DestinationReports } from './destination-reports.ts';
import { isNotable, isQuiet } from './notable.ts';

export interface StatusPublisherOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly producer: Pick<Producer, 'produce' | 'isFull'>;
  readonly topic: string;
  /** Of this process, and of no other one ever. */
  readonly worker: string;
  readonly reports: Pick<DestinationReports, 'ids' | 'of' | 'standing'>;
  /** What the worker says of itself. */
  readonly self: () => Pick<WorkerStatus, 'inFlight' | 'queued' | 'isCutOff' | 'topics'>;
}

const tickMs = 1_000;
/** One record refreshes all that a worker has said. */
const heartbeatMs = 5_000;
/** Of a killed worker nothing counts after this, also if it had missed two of its heartbeats. */
export const wordHoldsMs = 20_000;
/** Between two looks at a destination whose state stays as it is, and so between two of its records. */
const lookAgainMs = { trouble: 5_000, strained: 15_000, ok: 60_000 } as const;
/** A change of its state is written at once, but for this. */
const leastApartMs = 2_000;
/** Of one in trouble also small changes are written after this time: the last answer's time, the oldest event. */
const detailsMs = 30_000;
/** At a tenth less than what is promised, and a look. */
const refreshMs = 0.9 * statusRefreshMs - lookAgainMs.ok;
/** In a tick: of a worker that has just started with thousands of destinations, the rest comes in the next ones. */
const mostInTick = 500;
/** Given to the producer and not acknowledged. Beyond it nothing is written until there is room. */
const mostAhead = 2_000;

interface Written {
  /** Nothing is in the topic while it is quiet. */
  report: DestinationReport | undefined;
  state: DestinationState;
  writtenMs: number;
  lookMs: number;
  round: number;
}

/**
 * Writes what this worker knows of destinations into the topic `destination-status`: what has changed, and
 * nothing of what has not. It is in nobody's way: while Kafka does not take it, nothing is written, and then
 * what is true by that time.
 */
export class StatusPublisher {
  readonly #options: StatusPublisherOptions;
  readonly #written = new Map<string, Written>();
  readonly #startedAt: string;
  #timer: Timer;
  #heartbeatDueMs = 0;
  #ahead = 0;
  #round = 0;
  #onEmpty: () => void = () => undefined;

  constructor(options: StatusPublisherOptions) {
    this.#options = options;
    this.#startedAt = new Date(options.clock.now()).toISOString();
    this.#timer = options.clock.after(tickMs, this.#tick);
  }

  /** Takes back all that was said, and waits until Kafka has that, but no longer than `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    this.#timer.cancel();
    for (const [id, { report }] of this.#written) if (report !== undefined) this.#write(id, null);
    // The others go with it.
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
    const nowMs = clock.now();
    if (nowMs >= this.#heartbeatDueMs) this.#writeSelf(nowMs);
    this.#round += 1;
    let left = mostInTick;
    let seen = 0;
    for (const id of this.#options.reports.ids()) {
      const known = this.#written.get(id);
      if (known !== undefined) {
        known.round = this.#round;
        seen += 1;
      }
      if (left > 0 && this.#isDue(id, known, nowMs) && this.#look(id, known, nowMs)) left -= 1;
    }
    if (seen < this.#written.size) this.#forgetGone();
  };

  #isDue(id: string, known: Written | undefined, nowMs: number): boolean {
    if (known === undefined || nowMs >= known.lookMs) return true;
    const state = this.#options.reports.standing(id)?.state ?? 'ok';
    return state !== known.state && nowMs - known.writtenMs >= leastApartMs;
  }

  /** True if something was written. */
  #look(id: string, known: Written | undefined, nowMs: number): boolean {
    const report = this.#options.reports.of(id);
    const { state } = report;
    const former = known?.report;
    const next = known ?? { report, state, writtenMs: -Infinity, lookMs: 0, round: this.#round };
    this.#written.set(id, next);
    next.state = state;
    next.lookMs = nowMs + this.#lookAfterMs(state, known === undefined);
    if (isQuiet(report)) {
      next.report = undefined;
      if (former !== undefined) this.#write(id, null);
      return former !== undefined;
    }
    next.report = former;
    const agoMs = nowMs - next.writtenMs;
    const isWanted =
      former === undefined ||
      agoMs >= refreshMs ||
      isNotable(former, report) ||
      (isTrouble(state) && agoMs >= detailsMs);
    if (!isWanted) return false;
    next.report = report;
    next.writtenMs = nowMs;
    this.#write(id, JSON.stringify(this.#statusOf(report)));
    return true;
  }

  #lookAfterMs(state: DestinationState, isNew: boolean): number {
    if (isTrouble(state)) return lookAgainMs.trouble;
    if (state !== 'ok') return lookAgainMs.strained;
    // Soon for one that has just begun; and thousands that begin together are spread.
    return isNew ? lookAgainMs.strained * (0.5 + this.#options.random()) : lookAgainMs.ok;
  }

  #forgetGone(): void {
    for (const [id, { round, report }] of this.#written) {
      if (round === this.#round) continue;
      this.#written.delete(id);
      if (report !== undefined) this.#write(id, null);
    }
  }

  #statusOf(report: DestinationReport): DestinationStatus {
    return { kind: 'destination', worker: this.#options.worker, ...report };
  }

  #writeSelf(nowMs: number): void {
    this.#heartbeatDueMs = nowMs + heartbeatMs;
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

  /** Without an id, the worker's own record. */
  #write(id: string | undefined, value: string | null, { mayWait } = { mayWait: true }): void {
    const { producer, topic, worker } = this.#options;
    const key = statusKey(worker, id);
    this.#ahead += 1;
    // What Kafka refuses is written anew when it has changed.
    producer.produce({ topic, partition: 0, key, value, mayWait }, () => {
      this.#ahead -= 1;
      if (this.#ahead === 0) this.#onEmpty();
    });
  }
}
