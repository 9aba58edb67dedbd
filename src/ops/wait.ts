import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for the work, if any, but no longer than `ms`; the work then continues by itself. Does not keep the
 * process alive.
 */
export async function waitAtMost(
  timeoutMs: number,
  work: Promise<unknown> | undefined,
): Promise<void> {
  await Promise.race([work, delay(timeoutMs, undefined, { ref: false })]);
}

/**
 * Resolves after that time, or at once when the signal is aborted. Keeps the process alive, which may have
 * nothing else to wait for.
 */
export async function waitUnlessAborted(waitMs: number, signal: AbortSignal): Promise<void> {
  await delay(waitMs, undefined, { signal }).catch(() => undefined);
}

/** Time for records in flight when a command is stopped: longer than an attempt to write takes. */
export const closeMs = 30_000;

/** Resolves when records in flight at the signal have had enough time, also while Kafka is unreachable. */
export async function timeToEnd(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  await delay(closeMs, undefined, { ref: false });
}

/**
 * Waits that end early, when there may be something to do, or at the end. They do not keep the process alive.
 */
export class Sleeper {
  readonly #signal: AbortSignal;
  readonly #asleep = new Set<() => void>();
  readonly #resting = new Set<() => void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => {
      this.wake();
      for (const end of this.#resting) end();
    });
  }

  /** Ends all present waits. */
  wake(): void {
    for (const end of this.#asleep) end();
  }

  async sleep(ms: number): Promise<void> {
    return this.#wait(ms, this.#asleep);
  }

  /** Only the end wakes it. */
  async rest(ms: number): Promise<void> {
    return this.#wait(ms, this.#resting);
  }

  async #wait(ms: number, waiting: Set<() => void>): Promise<void> {
    if (this.#signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      timer.unref();
      waiting.add(end);
    });
  }
}
