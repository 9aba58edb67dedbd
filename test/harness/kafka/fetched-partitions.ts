import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type { FetchAnswer, FetchedPartition } from '../../../src/kafka/protocol/fetch.ts';

const noRecords = Buffer.alloc(0);

export function refusedPartition(
  topicId: string,
  partition: number,
  error: KafkaErrorName,
): FetchedPartition {
  return {
    topicId,
    partition,
    error,
    highWatermark: -1,
    lastStableOffset: -1,
    aborted: [],
    preferredReplica: -1,
    diverging: undefined,
    records: noRecords,
  };
}

/** The reader is to ask a replica near it. */
export function sentElsewhere(answer: FetchedPartition, replica: number): FetchedPartition {
  return {
    ...answer,
    aborted: [],
    diverging: undefined,
    records: noRecords,
    preferredReplica: replica,
  };
}

export function isEmpty({ partitions }: FetchAnswer): boolean {
  return partitions.every(
    ({ error, records, diverging, preferredReplica }) =>
      error === 'NONE' && records.length === 0 && diverging === undefined && preferredReplica < 0,
  );
}
