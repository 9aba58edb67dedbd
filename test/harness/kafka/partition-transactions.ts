import { attributesAt, readBatchHeader } from '../../../src/kafka/protocol/batch-header.ts';
import type { AbortedTransaction } from '../../../src/kafka/protocol/fetch.ts';
import { control, transactional } from '../../kafka/protocol/make-batch.ts';

const commits = 1;

interface EndedTransaction extends AbortedTransaction {
  /** Offset of the marker. */
  readonly endOffset: number;
  readonly isCommitted: boolean;
}

/** Which transactions are open in a partition, and how the others have ended, as its batches tell. */
export class PartitionTransactions {
  readonly #openFrom = new Map<number, number>();
  readonly #ended: EndedTransaction[] = [];

  add(batch: Buffer): void {
    // Of nearly all batches nothing else is of interest, and a header's checksum takes time.
    if ((batch.readInt16BE(attributesAt) & transactional) === 0) return;
    const { isControl, producerId, firstOffset, records } = readBatchHeader(batch);
    const from = this.#openFrom.get(producerId);
    if (!isControl) {
      if (from === undefined) this.#openFrom.set(producerId, firstOffset);
      return;
    }
    if (from === undefined) return;
    this.#openFrom.delete(producerId);
    this.#ended.push({
      producerId,
      firstOffset: from,
      endOffset: firstOffset,
      isCommitted: isCommitMarker(records),
    });
  }

  /** Readers of committed records see what is before it. */
  lastStable(highWatermark: number): number {
    if (this.#openFrom.size === 0 && this.#ended.length === 0) return highWatermark;
    const unsettled = this.#ended.filter(({ endOffset }) => endOffset >= highWatermark);
    const starts = [...this.#openFrom.values(), ...unsettled.map((each) => each.firstOffset)];
    return Math.min(highWatermark, ...starts);
  }

  /** Those that a reader who begins at this offset meets. */
  abortedFrom(offset: number): readonly AbortedTransaction[] {
    return this.#ended.filter(({ isCommitted, endOffset }) => !isCommitted && endOffset >= offset);
  }
}

export function isMarker(batch: Buffer): boolean {
  return (batch.readInt16BE(attributesAt) & control) !== 0;
}

/** Its one record has a length, attributes, two differences and the key's length before the key, of a byte each. */
function isCommitMarker(records: Buffer): boolean {
  const keyAt = 5;
  return records.readInt16BE(keyAt + 2) === commits;
}
