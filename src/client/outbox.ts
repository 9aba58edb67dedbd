import type { BatchSender } from './batch-sender.ts';
import type { Clock, Timer } from './clock.ts';
import type { EncodedCall } from './encode-call.ts';

export interface OutboxOptions {
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
