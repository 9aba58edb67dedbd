import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { errorName, type KafkaErrorName } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { EpochEnd } from './fetch.ts';

export interface EpochEndRequest {
  readonly topic: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly epoch: number;
}

export interface EpochEndAnswer extends EpochEnd {
  readonly error: KafkaErrorName;
}

/** OffsetForLeaderEpoch, version 3: where the records of an epoch end in the log of the partition's leader. */
export function epochEndExchange(request: EpochEndRequest): Exchange<EpochEndAnswer> {
  return {
    apiKey: 23,
    apiName: 'OffsetForLeaderEpoch',
    version: 3,
    encode: () => encodeEpochEndRequest(request),
    decode: decodeEpochEnd,
  };
}

const consumer = -1;

function encodeEpochEndRequest(request: EpochEndRequest): ByteWriter {
  const writer = new ByteWriter(64);
  writer.int32(consumer).array([request], ({ topic, partition, leaderEpoch, epoch }) => {
    writer.string(topic).array([partition], () => {
      writer.int32(partition).int32(leaderEpoch).int32(epoch);
    });
  });
  return writer;
}

/** An end of -1: the leader has no information about this epoch. */
function decodeEpochEnd(bytes: Buffer): EpochEndAnswer {
  const reader = new ByteReader(bytes);
  const throttleBytes = 4;
  reader.skip(throttleBytes);
  let answer: EpochEndAnswer = {
    error: 'UNKNOWN_TOPIC_OR_PARTITION',
    epoch: -1,
    endOffset: -1,
  };
  reader.array(() => {
    reader.string();
    reader.array(() => {
      const error = errorName(reader.int16());
      const partitionBytes = 4;
      reader.skip(partitionBytes);
      answer = { error, epoch: reader.int32(), endOffset: reader.int64() };
    });
  });
  return answer;
}
