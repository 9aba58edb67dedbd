/** A transaction that came to nothing, as a fetch response names it. */
export interface AbortedTransaction {
  readonly producerId: string;
  /** Of its first record in the partition. */
  readonly firstOffset: string;
}

/** The part of a record as kafkajs decodes it that says whose it is. */
export interface DecodedRecord {
  readonly offset: string;
  readonly key: Buffer | null;
  isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
}

/**
 * Makes kafkajs take the records of aborted transactions for markers, which it skips and counts as read.
 * Its own filter begins at most one aborted transaction with each record, so that where a fetch begins
 * inside two of them, as after the end of a process that had several open, it hands over records of the
 * second as if they were committed. Brokers name them in the order in which they ended, not began.
 */
export function hideAborted(
  records: readonly DecodedRecord[],
  aborted: readonly AbortedTransaction[],
): void {
  if (aborted.length === 0) return;
  const byFirstOffset = aborted.toSorted((a, b) => Number(a.firstOffset) - Number(b.firstOffset));
  const producers = new Set<string>();
  let begun = 0;
  for (const record of records) {
    for (
      let next = byFirstOffset[begun];
      next !== undefined && Number(next.firstOffset) <= Number(record.offset);
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
function isAbort({ key }: DecodedRecord): boolean {
  return key?.readInt16BE(2) === 0;
}
