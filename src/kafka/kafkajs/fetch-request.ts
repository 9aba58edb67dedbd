import { RequestWriter, stringBytes } from './request-writer.ts';

export interface FetchRequest {
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly isolationLevel: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
  readonly rackId: string;
}

/** Fetch, version 11, without its header. */
export function encodeFetchRequest(request: FetchRequest): RequestWriter {
  const writer = new RequestWriter(requestBytes(request))
    .int32(noReplica)
    .int32(request.maxWaitTime)
    .int32(request.minBytes)
    .int32(request.maxBytes)
    .int8(request.isolationLevel)
    .int32(noSession)
    .int32(noSessionEpoch)
    .int32(request.topics.length);
  for (const { topic, partitions } of request.topics) {
    writer.string(topic).int32(partitions.length);
    for (const { partition, fetchOffset, maxBytes } of partitions)
      writer
        .int32(partition)
        .int32(unknownEpoch)
        .int64(Number(fetchOffset))
        .int64(unknownOffset)
        .int32(maxBytes);
  }
  const forgottenTopics = 0;
  return writer.int32(forgottenTopics).string(request.rackId);
}

const noReplica = -1;
const noSession = 0;
const noSessionEpoch = -1;
const unknownEpoch = -1;
const unknownOffset = -1;
/** Seven numbers, the isolation level, and how many topics are forgotten. */
const fixedBytes = 33;
const countBytes = 4;
const bytesPerPartition = 28;

function requestBytes({ topics, rackId }: FetchRequest): number {
  let bytes = fixedBytes + stringBytes(rackId);
  for (const { topic, partitions } of topics)
    bytes += stringBytes(topic) + countBytes + partitions.length * bytesPerPartition;
  return bytes;
}
