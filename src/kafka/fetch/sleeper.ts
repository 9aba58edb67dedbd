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
