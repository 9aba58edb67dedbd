import type { PartitionQueue, QueuedRecord, Slice } from './partition-queue.ts';

/** The records of one call to Kafka: one slice a partition. */
export type Batch = readonly Slice[];

/**
 * Kafka refuses batches above `max.message.bytes`, 1 MB by default. It measures after compression, but
 * what does not compress grows a little.
 */
const maxPartitionBytes = 900 * 1024;
/**
 * What a partition costs in a call is spread over a hundred records, so beyond that nothing is gained; but
 * a call is encoded in one go, at 2 to 3 µs a record, and nothing else runs meanwhile. kafkajs also copies
 * a partition's records once for each of them.
 */
const maxPartitionRecords = 500;
export const fullBatch: { readonly records: number; readonly bytes: number } = {
  records: 1_000,
  bytes: 2 * 1024 * 1024,
};

/** Takes the queues off the front of `ready` until the batch is full. */
export function takeBatch(ready: PartitionQueue[]): Batch {
  const batch: Slice[] = [];
  let records = 0;
  let bytes = 0;
  let taken = 0;
  while (taken < ready.length && records < fullBatch.records && bytes < fullBatch.bytes) {
    const queue = ready[taken] as PartitionQueue;
    const slice = queue.take(maxPartitionRecords, maxPartitionBytes);
    batch.push(slice);
    records += slice.records.length;
    bytes += slice.bytes;
    taken += 1;
  }
  ready.splice(0, taken);
  return batch;
}

export function recordCount(batch: Batch): number {
  return batch.reduce((count, { records }) => count + records.length, 0);
}

export function topicsOf(batch: Batch): string[] {
  return [...new Set(batch.map(({ queue }) => queue.topic))];
}

/** One batch for each topic. */
export function splitByTopic(batch: Batch): Batch[] {
  return topicsOf(batch).map((topic) => batch.filter(({ queue }) => queue.topic === topic));
}

/**
 * Two batches that together are this one of at least two records. A partition is divided only when it
 * is alone, and its earlier half then comes first: whoever writes one after the other keeps its order.
 */
export function halve(batch: Batch): [Batch, Batch] {
  const [first] = batch;
  if (batch.length > 1 || first === undefined) {
    const middle = Math.ceil(batch.length / 2);
    return [batch.slice(0, middle), batch.slice(middle)];
  }
  const { queue, records } = first;
  const middle = Math.ceil(records.length / 2);
  return [[sliceOf(queue, records.slice(0, middle))], [sliceOf(queue, records.slice(middle))]];
}

function sliceOf(queue: PartitionQueue, records: readonly QueuedRecord[]): Slice {
  return { queue, records, bytes: records.reduce((sum, { bytes }) => sum + bytes, 0) };
}
