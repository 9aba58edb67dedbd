import { decodeStatus, type StatusRecord } from '../../event/destination-status.ts';
import type { Clock } from '../../ops/clock.ts';

/** A killed worker takes nothing back: after an hour its topic has forgotten it, and so does this. */
const forgottenAfterMs = 3_600_000;
/** Each worker has a new name after a restart, whether or not anybody looks at the console. */
const sweepEveryMs = 60_000;

/** Workers' reports, also of workers that are gone, by the keys of their records. */
export class Statuses {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #statuses = new Map<string, StatusRecord>();
  #sweptMs = -Infinity;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The number of reports in memory. */
  get size(): number {
    return this.#statuses.size;
  }

  put(key: string, value: Buffer | null): void {
    const status = value === null ? undefined : decodeStatus(value);
    if (status === undefined) this.#statuses.delete(key);
    else this.#statuses.set(key, status);
    if (this.#clock.now() - this.#sweptMs > sweepEveryMs) this.#sweep();
  }

  all(): readonly StatusRecord[] {
    this.#sweep();
    return [...this.#statuses.values()];
  }

  #sweep(): void {
    this.#sweptMs = this.#clock.now();
    const fromMs = this.#sweptMs - forgottenAfterMs;
    for (const [key, { at }] of this.#statuses)
      if (Date.parse(at) < fromMs) this.#statuses.delete(key);
  }
}
