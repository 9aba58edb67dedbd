import type { SteadyClock } from '../../src/ops/clock.ts';

/** Time passes only while somebody waits. */
export class WaitingClock implements SteadyClock {
  nowMs = 0;
  /** How far it was set forward. */
  setMs = 0;

  now(): number {
    return this.nowMs + this.setMs;
  }

  steadyNow(): number {
    return this.nowMs;
  }

  after(delayMs: number, callback: () => void): { cancel(): void } {
    this.nowMs += delayMs;
    setImmediate(callback);
    return { cancel: () => undefined };
  }
}
