import { backoffMs } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { DebugLog } from './debug.ts';
import type { EncodedCall } from './encode-call.ts';
import { AnalyticsError } from './error.ts';
import { OutageWarner } from './outage-warner.ts';
import type { Refusal, Transport } from './transport.ts';

export interface BatchSenderOptions {
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
  readonly done: () => void;
}

/**
 * Sends each batch until it is settled, several at a time. A batch that waits before it is sent again does
 * not delay the others, so batches may overtake one another.
 */
export class BatchSender {
  readonly #options: BatchSenderOptions;
  readonly #waiting: Batch[] = [];
  #inFlight = 0;
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
      this.#waiting.push({ calls, done: resolve });
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
    while (this.#inFlight < this.#options.transport.maxInFlight) {
      const batch = this.#waiting.shift();
      if (batch === undefined) return;
      this.#inFlight += 1;
      void this.#deliver(batch).then(() => {
        this.#inFlight -= 1;
        batch.done();
        this.#start();
      });
    }
  }

  async #deliver({ calls }: Batch): Promise<void> {
    const { transport, clock, random, onSettled, debug } = this.#options;
    for (let attempts = 1; ; attempts += 1) {
      // In a loop, because another batch may have got a later time meanwhile.
      while (clock.steadyNow() < this.#pausedUntilMs && !this.#isGivenUp) {
        await this.#pause(this.#pausedUntilMs - clock.steadyNow());
      }
      if (this.#isGivenUp) break;
      debug?.(`sending ${calls.length} calls, attempt ${attempts}`);
      const result = await transport.send(calls);
      if (result.outcome === 'settled') {
        this.#lastFailure = undefined;
        const delivered = calls.length - result.refused.size;
        if (delivered > 0) this.#outage.delivered();
        debug?.(`${delivered} of ${calls.length} calls delivered`);
        for (const call of calls) onSettled(call, errorOf(result.refused.get(call)));
        return;
      }
      const { reason, waitMs = 0 } = result;
      const pauseMs = Math.max(waitMs, backoffMs(attempts, random));
      this.#lastFailure = reason ?? this.#lastFailure;
      if (reason !== undefined) this.#outage.failed(reason);
      debug?.(`${reason ?? 'ended by closing'}; again in ${Math.round(pauseMs)} ms`);
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, clock.steadyNow() + waitMs);
      await this.#pause(pauseMs);
    }
    const message = 'the time for closing was over';
    const why = this.#lastFailure === undefined ? '' : `; the last failure: ${this.#lastFailure}`;
    const error = new AnalyticsError('not-delivered', `${message}${why}`);
    for (const call of calls) onSettled(call, error);
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
