import type { FinishedAhead } from './offset-tracker.ts';

/** The unfinished part of one partition for a group: the range that is not committed, with gaps. */
export class UnfinishedPart {
  readonly partition: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly #ahead: FinishedAhead | undefined;

  constructor(
    { partition, start, end }: { partition: number; start: number; end: number },
    ahead: FinishedAhead | undefined,
  ) {
    this.partition = partition;
    this.start = start;
    this.end = end;
    this.#ahead = ahead;
  }

  has(offset: number): boolean {
    if (offset < this.start || offset >= this.end) return false;
    const ahead = this.#ahead;
    return ahead === undefined || offset >= ahead.upTo || ahead.unfinished.has(offset);
  }

  /** Number of offsets. In a topic without transactions, that is the number of records. */
  get count(): number {
    const { start, end } = this;
    if (this.#ahead === undefined) return Math.max(0, end - start);
    const { upTo, unfinished } = this.#ahead;
    const beyond = Math.max(0, end - Math.max(start, upTo));
    return beyond + [...unfinished].filter((offset) => offset < upTo && this.has(offset)).length;
  }
}
