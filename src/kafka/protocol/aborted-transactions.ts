import type { AbortedTransaction } from './fetch.ts';

/** Tracks, batch by batch, which open transactions will be aborted. */
export class OpenAborts {
  readonly #byFirstOffset: readonly AbortedTransaction[];
  readonly #producerIds = new Set<number>();
  #begun = 0;

  /** @param aborted in any order: brokers list them in the order in which they ended, not began */
  constructor(aborted: readonly AbortedTransaction[]) {
    this.#byFirstOffset = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset);
  }

  /**
   * Begins all transactions that begin up to an offset. Several may begin at one batch: a fetch that starts
   * inside two aborted transactions meets both with its first batch.
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
