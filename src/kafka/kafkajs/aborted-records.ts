import type { FetchedRecord } from './fetched-record.ts';

/** A transaction that came to nothing, as a fetch response names it. */
export interface AbortedTransaction {
  readonly producerId: string;
  /** Of its first record in the partition. */
  readonly firstOffset: string;
}

/**
 * Makes kafkajs take the records of aborted transactions for markers, which it skips and counts as read.
 * Its own filter begins at most one aborted transaction with each record, so that where a fetch begins
 * inside two of them, as after the end of a process that had several open, it hands over records of the
 * second as if they were committed. Brokers name them in the order in which they ended, not began.
 */
export function hideAborted(
  records: readonly FetchedRecord[],
  aborted: readonly AbortedTransaction[],
): void {
  if (aborted.length === 0) return;
  const byFirstOffset = aborted.toSorted((a, b) => Number(a.firstOffset) - Number(b.firstOffset));
  const producers = new Set<string>();
  let begun = 0;
  for (const record of records) {
    for (
      let next = byFirstOffset[begun];
      next !== undefined && Number(next.firstOffset) <= record.offsetNumber;
      next = byFirstOffset[begun]
    ) {
      producers.add(next.producerId);
      begun += 1;
    }
    const { producerId, inTransaction } = record.batchContext;
    if (record.isControlRecord) {
      if (isAbort(record)) producers.delete(producerId);
    } else if (inTransaction && producers.has(producerId)) record.isControlRecord = true;
  }
}

/** A marker's key is its version and its type, two bytes each; type 0 aborts, 1 commits. */
function isAbort({ key }: FetchedRecord): boolean {
  return key?.readInt16BE(2) === 0;
}
