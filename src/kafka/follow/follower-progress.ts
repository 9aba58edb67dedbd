import type { OffsetRange } from '../consume/broker-offsets.ts';

/** How long ago the end of the topic may have been asked for that a fresh follower has reached. */
export const freshMs = 2_000;
/** Nothing has come for so long: what lies before the end is emptied batches, which kafkajs does not report. */
const quietMs = 2_000;
/** A broker that no fetch was sent to for so long has left the cluster; a hanging one is given up earlier. */
const forgottenMs = 30_000;

export type Ranges = ReadonlyMap<number, OffsetRange>;

interface Answer {
  readonly askId: number;
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly ranges: Ranges;
}

interface Waiter {
  /** The first question that may be answered for it. */
  readonly askId: number;
  resolve(): void;
}

/**
 * So many fetches in a row without a record show that there is none. An idle fetch takes 0.1 s; a
 * connection that breaks gives kafkajs two or three that fail without a word.
 */
const fruitless = 10;

/**
 * How far a follower has read, and whether that is as far as the topic went when it was last asked.
 * Pure: told what happens and when.
 */
export class FollowerProgress {
  readonly #positions = new Map<number, number>();
  /** When the last few fetches from each broker began. */
  readonly #fetches = new Map<number, number[]>();
  #answers: Answer[] = [];
  #waiters: Waiter[] = [];
  #asks = 0;
  #askedAt = -Infinity;
  #quietSince: number;
  #freshUntil = -Infinity;
  /** Questions in a row whose answer ends before our position. */
  #shrunk = 0;

  constructor(now: number) {
    this.#quietSince = now;
  }

  position(partition: number): number | undefined {
    return this.#positions.get(partition);
  }

  /** Everything of the partition before `next` was handed over. */
  moved(partition: number, next: number, now: number): void {
    this.#positions.set(partition, Math.max(next, this.#positions.get(partition) ?? next));
    this.stirred(now);
    this.#settle(now);
  }

  /** The consumer joined anew, or failed: whether nothing comes must be seen again. */
  stirred(now: number): void {
    this.#quietSince = now;
  }

  /** A fetch from a broker begins; the one before it has brought all that it had. */
  fetching(nodeId: number, now: number): void {
    this.#fetches.set(nodeId, [...(this.#fetches.get(nodeId) ?? []), now].slice(-fruitless));
  }

  /** Right before the topic's ends are asked for, one question at a time. */
  beginAsk(now: number): {
    readonly askId: number;
    readonly positions: ReadonlyMap<number, number>;
  } {
    if (now < this.#askedAt) this.#setBack(now);
    this.#asks += 1;
    this.#askedAt = now;
    return { askId: this.#asks, positions: new Map(this.#positions) };
  }

  answered(askId: number, ranges: Ranges, now: number): void {
    this.#answers.push({ askId, askedAt: this.#askedAt, answeredAt: now, ranges });
    this.#settle(now);
  }

  /**
   * Whether an answer shows that the topic was made again: it ends before what was read of it. Only
   * the second in a row counts, because a new leader may not know the last records at once.
   */
  hasShrunk(before: ReadonlyMap<number, number>, ranges: Ranges): boolean {
    const short = [...before].some(([partition, position]) => {
      const end = ranges.get(partition)?.end;
      return end !== undefined && end < position;
    });
    this.#shrunk = short ? this.#shrunk + 1 : 0;
    return this.#shrunk >= 2;
  }

  isFresh(now: number): boolean {
    // Not before the question either: a clock that was set back would make it fresh for as long.
    return now <= this.#freshUntil && now >= this.#freshUntil - freshMs;
  }

  /** Resolves when the answer to a question is reached that is asked from now on. */
  reached(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ askId: this.#asks + 1, resolve });
    });
  }

  /** The topic is read from its beginning again. */
  restart(ranges: Ranges, now: number): void {
    this.#positions.clear();
    for (const [partition, { earliest }] of ranges) this.#positions.set(partition, earliest);
    this.#answers = [];
    this.#shrunk = 0;
    this.#freshUntil = -Infinity;
    this.stirred(now);
  }

  /** What a clock that was set back has told before would count as quiet only once it has caught up. */
  #setBack(now: number): void {
    this.#answers = [];
    this.#fetches.clear();
    this.stirred(now);
  }

  #settle(now: number): void {
    for (;;) {
      const [oldest] = this.#answers;
      if (oldest === undefined) return;
      if (!this.#hasReached(oldest.ranges)) {
        if (!this.#isQuiet(oldest, now)) return;
        // Nothing before the end is left to read, so that is where the follower is.
        for (const [partition, { end }] of oldest.ranges) this.#positions.set(partition, end);
      }
      this.#answers.shift();
      this.#freshUntil = oldest.askedAt + freshMs;
      const isMet = (waiter: Waiter): boolean => waiter.askId <= oldest.askId;
      for (const waiter of this.#waiters.filter(isMet)) waiter.resolve();
      this.#waiters = this.#waiters.filter((waiter) => !isMet(waiter));
    }
  }

  #hasReached(ranges: Ranges): boolean {
    return [...ranges].every(
      ([partition, { earliest, end }]) => (this.#positions.get(partition) ?? earliest) >= end,
    );
  }

  /** Every broker was asked for records after the end was known, again and again, and none came. */
  #isQuiet({ answeredAt }: Answer, now: number): boolean {
    const since = Math.max(this.#quietSince, answeredAt);
    if (now - since < quietMs) return false;
    const current = [...this.#fetches.values()].filter(
      (starts) => now - (starts.at(-1) ?? -Infinity) < forgottenMs,
    );
    const isFruitless = (starts: number[]): boolean =>
      starts.length === fruitless && (starts[0] ?? 0) >= since;
    return current.length > 0 && current.every(isFruitless);
  }
}
