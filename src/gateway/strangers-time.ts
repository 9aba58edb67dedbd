import type { SteadyClock } from '../ops/clock.ts';

/** The part of one CPU that requests without a known write key may take for their bodies. */
const share = 0.05;
/** Ten seconds' worth, so that the time after a client's key was deleted doesn't use it up. */
const mostMs = 500;
/** A plain body of this size is searched for its key in less time than its HTTP request takes. */
const cheapBytes = 64 * 1024;

/**
 * Bounds the CPU time that anybody can take without a write key: unpacking a body and searching it for a key. Only
 * requests that show no known key in their header are concerned, and of these only large and packed ones: a browser's
 * beacons go on while a stranger uses the time up.
 */
export class StrangersTime {
  readonly #clock: SteadyClock;
  #leftMs = mostMs;
  #updatedMs: number;

  constructor(clock: SteadyClock) {
    this.#clock = clock;
    this.#updatedMs = clock.steadyNow();
  }

  /** Tells whether the body of a request that showed no known key yet may be unpacked and searched. */
  allows(body: Buffer, isPacked: boolean): boolean {
    const nowMs = this.#clock.steadyNow();
    this.#leftMs = Math.min(mostMs, this.#leftMs + (nowMs - this.#updatedMs) * share);
    this.#updatedMs = nowMs;
    return this.#leftMs > 0 || (!isPacked && body.length <= cheapBytes);
  }

  /** Since `startedMs`, by the steady clock, a body was worked on that named no known key. */
  spent(startedMs: number): void {
    this.#leftMs -= this.#clock.steadyNow() - startedMs;
  }
}
