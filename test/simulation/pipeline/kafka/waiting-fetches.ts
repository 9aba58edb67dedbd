import type { Cursor } from '../../../../src/kafka/fetch/cursor.ts';
import { Fetcher } from '../../../../src/kafka/fetch/fetcher.ts';
import { replace } from '../substitutes.ts';
import type { SimulatedProcess, VirtualTime } from '../virtual-time.ts';

type Resume = (this: Fetcher, cursor: Cursor) => void;

/** How long a reader asks brokers to wait where a fetch leaves partitions out. */
const leftOutMs = 100;

/**
 * Fetches that wait for news and leave partitions out. A reader that goes on with one of those waits for such a fetch
 * to end, for which it asks brokers to answer soon; here, that would be most of all turns. So they wait like all others,
 * and end when they matter: soon after their reader goes on with a partition.
 */
export class WaitingFetches {
  readonly #time: VirtualTime;
  readonly #ends = new Map<SimulatedProcess | undefined, Set<() => void>>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Of the running process. */
  add(end: () => void): void {
    const { process } = this.#time;
    const known = this.#ends.get(process);
    if (known === undefined) this.#ends.set(process, new Set([end]));
    else known.add(end);
  }

  remove(end: () => void): void {
    this.#ends.get(this.#time.process)?.delete(end);
  }

  /** @returns ends that */
  watch(): () => void {
    const former: Resume = Reflect.get(Fetcher.prototype, 'resume');
    const goesOn = (): void => {
      this.#endSoon();
    };
    const resume: Resume = function (cursor) {
      if (cursor.isPaused) goesOn();
      former.call(this, cursor);
    };
    return replace(Fetcher.prototype, { resume });
  }

  #endSoon(): void {
    const { process } = this.#time;
    const ends = [...(this.#ends.get(process) ?? [])];
    this.#ends.delete(process);
    if (ends.length === 0) return;
    this.#time.after(
      leftOutMs,
      () => {
        for (const end of ends) end();
      },
      process,
    );
  }
}
