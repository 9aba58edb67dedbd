import { PostriderError } from '../errors.ts';
import type { GroupProgress } from '../kafka/topic-progress.ts';
import type { SteadyClock } from '../ops/clock.ts';
import { pause } from './pace.ts';

/** The workers' progress in the topic that live traffic and redriven events share. */
export interface Traffic extends GroupProgress {
  /** By the steady clock. */
  readonly atMs: number;
}

export interface LiveTrafficOptions<L> {
  /** Tells whether a letter goes to the topic that is looked at. */
  readonly isShared: (letter: L) => boolean;
  look(): Promise<GroupProgress>;
  readonly clock: SteadyClock;
  /** Called when live traffic begins or ceases to have priority. */
  readonly onChange: (isWaiting: boolean) => void;
}

const lookEveryMs = 2_000;
/** About what a worker has in flight. A smaller backlog does not count. */
const usualRecords = 1_000;
/** An attempt may hold a partition's committed offset back for 5 s, and commits take up to a second. */
const usualMs = 10_000;

/** Makes a redrive wait while the workers are behind with other events. */
export class LiveTraffic<L> {
  readonly #options: LiveTrafficOptions<L>;
  #own = 0;
  #last: { readonly traffic: Traffic; readonly own: number } | undefined;
  #isWaiting = false;

  constructor(options: LiveTrafficOptions<L>) {
    this.#options = options;
  }

  /** The redrive has written the letter's record. */
  wrote(letter: L): void {
    if (this.#options.isShared(letter)) this.#own += 1;
  }

  /**
   * Resolves when the letter's record may be written, or the signal is aborted.
   * @param settled resolves when all that the redrive has written is counted, and nothing more on its way
   */
  async giveWay(letter: L, signal: AbortSignal, settled: () => Promise<void>): Promise<void> {
    const { clock, onChange, isShared } = this.#options;
    if (!isShared(letter)) return;
    while (!signal.aborted) {
      const isDue = clock.steadyNow() - (this.#last?.traffic.atMs ?? -Infinity) >= lookEveryMs;
      const mustWait = isDue ? await this.#isBehind(settled) : this.#isWaiting;
      if (mustWait !== this.#isWaiting) onChange(mustWait);
      this.#isWaiting = mustWait;
      if (!mustWait) return;
      await pause(clock, lookEveryMs, signal);
    }
  }

  async #isBehind(settled: () => Promise<void>): Promise<boolean> {
    await settled();
    try {
      const progress = await this.#options.look();
      const traffic = { ...progress, atMs: this.#options.clock.steadyNow() };
      const before = this.#last;
      this.#last = { traffic, own: this.#own };
      if (before === undefined) return false;
      return isBehind(before.traffic, traffic, this.#own - before.own);
    } catch (error) {
      // While Kafka is unreachable, nothing could be written either.
      if (error instanceof PostriderError && error.retry) return true;
      throw error;
    }
  }
}

/**
 * Tells whether live traffic is written, and more of it waits than the workers finish in some seconds. A backlog to
 * which nothing is added delays nobody, so it does not count.
 * @param own events of the redrive between the two measurements
 */
export function isBehind(before: Traffic, now: Traffic, own: number): boolean {
  if (now.end - before.end <= own) return false;
  const finishedPerMs = (now.finished - before.finished) / (now.atMs - before.atMs);
  return now.end - now.finished > Math.max(usualRecords, finishedPerMs * usualMs);
}
