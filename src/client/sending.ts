import { backoffMs, type Clock, type Timer } from './clock.ts';
import type { EncodedCall } from './encode-call.ts';
import { AnalyticsError } from './errors.ts';
import type { Refusal, SendResult, Transport } from './transport.ts';
import { type DebugLog, OutageWarner } from './warnings.ts';

interface OutboxOptions {
  readonly sender: BatchSender;
  readonly flushAt: number;
  readonly flushAfterMs: number;
  /** Bound on the bytes of a batch's calls, with the commas between them. */
  readonly maxBatchBytes: number;
  readonly clock: Clock;
}

/** Collects calls into batches. A batch is passed on when it is full, or when its time has come. */
export class Outbox {
  readonly #options: OutboxOptions;
  #collecting: EncodedCall[] = [];
  #bytes = 0;
  /** In steady time. */
  #lastFlushMs: number;
  #timer: Timer | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#lastFlushMs = options.clock.steadyNow();
  }

  add(call: EncodedCall): void {
    const { flushAt, maxBatchBytes } = this.#options;
    const bytes = call.bytes + 1;
    if (this.#bytes + bytes > maxBatchBytes) this.flush();
    if (this.#collecting.length === 0) this.#startTimer();
    this.#collecting.push(call);
    this.#bytes += bytes;
    if (this.#collecting.length >= flushAt) this.flush();
  }

  /** Passes the collected calls on. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#lastFlushMs = this.#options.clock.steadyNow();
    if (this.#collecting.length === 0) return;
    this.#options.sender.add(this.#collecting);
    this.#collecting = [];
    this.#bytes = 0;
  }

  #startTimer(): void {
    const { clock, flushAfterMs } = this.#options;
    // An interval in which nothing was queued counts as an empty flush, so no timer runs meanwhile.
    const sinceMs = (clock.steadyNow() - this.#lastFlushMs) % flushAfterMs;
    this.#timer = clock.after(flushAfterMs - sinceMs, () => {
      this.flush();
    });
  }
}

interface BatchSenderOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called once for each call: without an error when it is delivered. Must not throw. */
  readonly onSettled: (call: EncodedCall, error: AnalyticsError | undefined) => void;
  readonly warn: (message: string, code: string) => void;
  readonly debug: DebugLog | undefined;
}

interface Batch {
  readonly calls: readonly EncodedCall[];
  attempts: number;
  /** The number of batches that had been settled when this one failed for the first time. */
  settledBefore: number | undefined;
  readonly done: () => void;
}

type SentAgain = Extract<SendResult, { readonly outcome: 'again' }>;

/**
 * Sends each batch until it is settled, several at a time. A batch that failed goes to the end of the line, so
 * batches may overtake one another. While it waits before that, nobody else has its place, unless another batch was
 * settled meanwhile: in an outage, a gateway in trouble gets few requests.
 */
export class BatchSender {
  readonly #options: BatchSenderOptions;
  readonly #waiting: Batch[] = [];
  /** Places that are taken, out of as many as may be in flight. */
  #places = 0;
  #settledBatches = 0;
  /** Functions that end the waiting at places of batches that failed. */
  readonly #leavePlaces = new Set<() => void>();
  /** One for each batch that is not settled. */
  readonly #unsettled = new Set<Promise<void>>();
  #startIsNext = false;
  /** The time that the endpoint's `Retry-After` asked for, in steady time. */
  #pausedUntilMs = 0;
  /** Functions that end the pending pauses. */
  readonly #wakeUps = new Set<() => void>();
  #isGivenUp = false;
  /** Why the last attempt failed; undefined after one that did not. */
  #lastFailure: string | undefined;
  readonly #outage: OutageWarner;

  constructor(options: BatchSenderOptions) {
    this.#options = options;
    this.#outage = new OutageWarner(options);
  }

  /** Returns before anything is sent, because a call does no I/O. */
  add(calls: readonly EncodedCall[]): void {
    const settled = new Promise<void>((resolve) => {
      this.#waiting.push({ calls, attempts: 0, settledBefore: undefined, done: resolve });
    });
    this.#unsettled.add(settled);
    void settled.then(() => this.#unsettled.delete(settled));
    if (this.#startIsNext) return;
    this.#startIsNext = true;
    setImmediate(() => {
      this.#startIsNext = false;
      this.#start();
    });
  }

  /** Resolves when every batch that was added before is settled. */
  async settled(): Promise<void> {
    await Promise.all(this.#unsettled);
  }

  /**
   * Waits until everything is settled, but no longer than `timeoutMs`. The rest is then settled with the
   * error `not-delivered`.
   */
  async close(timeoutMs: number): Promise<void> {
    const { transport, clock } = this.#options;
    const timer = clock.after(timeoutMs, () => {
      this.#isGivenUp = true;
      for (const wakeUp of this.#wakeUps) wakeUp();
      // Ends what is being sent.
      void transport.close();
    });
    await this.settled();
    timer.cancel();
    await transport.close();
  }

  #start(): void {
    const idle = this.#options.transport.maxInFlight - this.#places;
    for (let left = Math.min(idle, this.#waiting.length); left > 0; left -= 1) {
      this.#places += 1;
      void this.#sendInTurn();
    }
  }

  /** Sends one batch after the other, at one place. */
  async #sendInTurn(): Promise<void> {
    // In a row. In an outage, a place that tries another batch each time must not begin with short waits again.
    let failures = 0;
    for (let batch = this.#waiting.shift(); batch !== undefined; batch = this.#waiting.shift()) {
      const failed = await this.#attempt(batch);
      if (failed === undefined) {
        failures = 0;
        continue;
      }
      failures += 1;
      const { reason = 'ended by closing', waitMs = 0 } = failed;
      const { random, debug } = this.#options;
      const pauseMs = Math.max(waitMs, backoffMs(Math.max(failures, batch.attempts), random));
      debug?.(`${reason}; again in ${Math.round(pauseMs)} ms`);
      if (!(await this.#pauseHere(batch, pauseMs))) failures = 0;
    }
    // Not a turn later: what comes back in line meanwhile would find no place.
    this.#places -= 1;
  }

  /** Undefined: it is settled. */
  async #attempt(batch: Batch): Promise<SentAgain | undefined> {
    const { transport, clock, onSettled, debug } = this.#options;
    const { calls } = batch;
    // In a loop, because another batch may have got a later time meanwhile.
    while (clock.steadyNow() < this.#pausedUntilMs && !this.#isGivenUp) {
      await this.#pause(this.#pausedUntilMs - clock.steadyNow());
    }
    if (this.#isGivenUp) {
      this.#giveUp(batch);
      return undefined;
    }
    batch.attempts += 1;
    debug?.(`sending ${calls.length} calls, attempt ${batch.attempts}`);
    const result = await transport.send(calls);
    if (result.outcome === 'settled') {
      this.#lastFailure = undefined;
      const delivered = calls.length - result.refused.size;
      if (delivered > 0) this.#outage.delivered();
      debug?.(`${delivered} of ${calls.length} calls delivered`);
      for (const call of calls) onSettled(call, errorOf(result.refused.get(call)));
      batch.done();
      this.#settledBatches += 1;
      for (const leave of this.#leavePlaces) leave();
      return undefined;
    }
    const { reason, waitMs = 0 } = result;
    this.#lastFailure = reason ?? this.#lastFailure;
    if (reason !== undefined) this.#outage.failed(reason);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, clock.steadyNow() + waitMs);
    batch.settledBefore ??= this.#settledBatches;
    return result;
  }

  #giveUp({ calls, done }: Batch): void {
    const message = 'the time for closing was over';
    const why = this.#lastFailure === undefined ? '' : `; the last failure: ${this.#lastFailure}`;
    const error = new AnalyticsError('not-delivered', `${message}${why}`);
    for (const call of calls) this.#options.onSettled(call, error);
    done();
  }

  /**
   * Puts the batch back in line after the pause. Resolves then with true, or with false once another batch was settled
   * since this one first failed: the failure is its own, and others may have its place.
   */
  #pauseHere(batch: Batch, ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#leavePlaces.delete(leave);
        resolve(false);
      };
      if (batch.settledBefore === this.#settledBatches) this.#leavePlaces.add(leave);
      else resolve(false);
      void this.#pause(ms).then(() => {
        this.#waiting.push(batch);
        if (this.#leavePlaces.delete(leave)) resolve(true);
        else this.#start();
      });
    });
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0 || this.#isGivenUp) return;
    await new Promise<void>((resolve) => {
      const wakeUp = (): void => {
        timer.cancel();
        this.#wakeUps.delete(wakeUp);
        resolve();
      };
      const timer = this.#options.clock.after(ms, wakeUp);
      this.#wakeUps.add(wakeUp);
    });
  }
}

function errorOf(refusal: Refusal | undefined): AnalyticsError | undefined {
  if (refusal === undefined) return undefined;
  const { code, message, cause } = refusal;
  return new AnalyticsError(code, message, cause === undefined ? undefined : { cause });
}
