import type { Clock } from './clock.ts';

/** Longer than a restart of the endpoint takes. By then there were six attempts or more. */
const tellAfterMs = 10_000;

export interface OutageWarnerOptions {
  readonly clock: Pick<Clock, 'steadyNow'>;
  readonly warn: (message: string, code: string) => void;
}

/**
 * Warns once in an outage that nothing is delivered: attempts go on without end, and a wrong port in the
 * endpoint would otherwise stay unnoticed.
 */
export class OutageWarner {
  readonly #options: OutageWarnerOptions;
  /** Undefined while nothing has failed since the last delivery. */
  #failingSinceMs: number | undefined;
  #isTold = false;

  constructor(options: OutageWarnerOptions) {
    this.#options = options;
  }

  failed(reason: string): void {
    const { clock, warn } = this.#options;
    const nowMs = clock.steadyNow();
    this.#failingSinceMs ??= nowMs;
    const failingMs = nowMs - this.#failingSinceMs;
    if (this.#isTold || failingMs < tellAfterMs) return;
    this.#isTold = true;
    const seconds = Math.round(failingMs / 1_000);
    warn(
      `No call could be delivered for ${seconds} s; they wait and are sent again. The last failure: ${reason}`,
      'outage',
    );
  }

  delivered(): void {
    this.#failingSinceMs = undefined;
    this.#isTold = false;
  }
}
