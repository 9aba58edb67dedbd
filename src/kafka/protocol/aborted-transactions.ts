import type { AbortedTransaction } from './fetch.ts';

/** Knows, batch by batch, whose transactions are open that will be aborted. */
export class OpenAborts {
  readonly #byFirstOffset: readonly AbortedTransaction[];
  readonly #producerIds = new Set<number>();
  #begun = 0;

  /** @param aborted in any order: brokers name them in the order in which they ended, not began */
  constructor(aborted: readonly AbortedTransaction[]) {
    this.#byFirstOffset = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset);
  }

  /**
   * Begins all that begin up to an offset. Several may at one batch: a fetch that begins inside of two aborted
   * transactions meets both with the first batch that it brings.
   */
  beginUpTo(offset: number): void {
    for (
      let next = this.#byFirstOffset[this.#begun];
      next !== undefined && next.firstOffset <= offset;
      next = this.#byFirstOffset[this.#begun]
    ) {
      this.#producerIds.add(next.producerId);
      this.#begun += 1;
    }
  }

  has(producerId: number): boolean {
    return this.#producerIds.has(producerId);
  }

  end(producerId: number): void {
    this.#producerIds.delete(producerId);
  }
}
