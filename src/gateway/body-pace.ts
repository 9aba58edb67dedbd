import type { Clock } from '../ops/clock.ts';

/** The speed of the slowest phones. A slower sender holds memory and is probably hostile. */
export const leastBytesPerS = 1024;

/** A body that is being received. */
export interface PacedBody {
  readonly receivedBytes: number;
  /** The bytes that must have come by the next look; 0 before the first one. */
  wantedBytes: number;
  onTooSlow(): void;
}

/**
 * Ends bodies that come too slowly. All of them are looked at together, because a timer for each would cost
 * more than reading it.
 */
export class BodyPace {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #bodies = new Set<PacedBody>();
  #isWatching = false;

  /** @param windowMs how often the speed is checked */
  constructor(clock: Clock, windowMs: number) {
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  watch(body: PacedBody): void {
    this.#bodies.add(body);
    if (!this.#isWatching) this.#lookLater();
  }

  unwatch(body: PacedBody): void {
    this.#bodies.delete(body);
  }

  readonly #look = (): void => {
    this.#isWatching = false;
    for (const body of this.#bodies) {
      if (body.receivedBytes < body.wantedBytes) body.onTooSlow();
      else body.wantedBytes = body.receivedBytes + (leastBytesPerS * this.#windowMs) / 1_000;
    }
    if (this.#bodies.size > 0) this.#lookLater();
  };

  #lookLater(): void {
    this.#isWatching = true;
    this.#clock.after(this.#windowMs, this.#look);
  }
}
