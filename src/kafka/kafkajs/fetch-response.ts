import { setImmediate as nextTurn } from 'node:timers/promises';
import { Pace } from '../pace.ts';
import { hideAborted, type AbortedTransaction } from './aborted-records.ts';
import type { BatchPart } from './fetched-batch.ts';
import { FetchedRecord } from './fetched-record.ts';
import { requireOwn } from './own-copy.ts';
import {
  areRecordBatches,
  bytesOfFirst,
  readRecordBatches,
  type ReadRecords,
} from './record-reader.ts';

/** The part of kafkajs's Decoder that a fetch response needs. */
interface Decoder {
  readonly buffer: Buffer;
  offset: number;
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readString(): string;
  readBytes(length: number): Buffer;
  readArray<T>(read: (decoder: Decoder) => T): T[];
}

export interface FetchedPartition extends BatchPart {
  readonly errorCode: number;
  readonly preferredReadReplica: number;
  readonly abortedTransactions: readonly AbortedTransaction[];
}

export interface FetchResponse {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly FetchedPartition[];
  }[];
}

const KafkaDecoder = requireOwn('src/protocol/decoder') as new (bytes: Buffer) => Decoder;
const decodeMessageSet = requireOwn('src/protocol/messageSet/decoder') as (
  decoder: Decoder,
  bytes: number,
) => Promise<OldMessage[]>;

/** As it was written before Kafka 0.11. */
interface OldMessage {
  readonly offset: string;
  readonly timestamp?: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

/**
 * Fetch, version 11: all partitions that hold records, an error or another broker to ask. Of an answer
 * that brings many records only the first of each partition are decoded, as if the broker had sent no
 * more: a broker counts compressed bytes, and the tens of thousands of records that they may hold would
 * keep everything else waiting. The next fetch brings the others.
 */
export async function decodeFetchResponse(bytes: Buffer): Promise<FetchResponse> {
  const decoder = new KafkaDecoder(bytes);
  const clientSideThrottleTime = decoder.readInt32();
  const errorCode = decoder.readInt16();
  const sessionId = decoder.readInt32();
  const found = findPartitions(decoder);
  const mostRecords = recordsPerAnswer / found.reduce((sum, { starts }) => sum + starts.length, 0);
  const pace = new Pace();
  const responses = [];
  for (const { topicName, starts } of found) {
    const partitions = [];
    for (const start of starts) {
      decoder.offset = start;
      const partition = await decodePartition(decoder, mostRecords);
      partitions.push(partition);
      if (pace.isPauseDue(partition.messages.length)) await nextTurn();
    }
    responses.push({ topicName, partitions });
  }
  // The broker has not throttled: it asks the client to, which kafkajs does by the other field.
  const throttleTime = 0;
  return { throttleTime, clientSideThrottleTime, errorCode, sessionId, responses } as FetchResponse;
}

const recordsPerAnswer = 2_048;

interface FoundTopic {
  readonly topicName: string;
  /** Where its partitions begin that bring something. */
  readonly starts: readonly number[];
}

function findPartitions(decoder: Decoder): FoundTopic[] {
  const found: FoundTopic[] = [];
  for (let topics = decoder.readInt32(); topics > 0; topics -= 1) {
    const topicName = decoder.readString();
    const starts = [];
    for (let count = decoder.readInt32(); count > 0; count -= 1) {
      const { offset } = decoder;
      if (bringsSomething(decoder)) starts.push(offset);
    }
    if (starts.length > 0) found.push({ topicName, starts });
  }
  return found;
}

/** Where fields are, from the partition's first byte. */
const errorCodeAt = 4;
const abortedTransactionsAt = 30;
const abortedTransactionBytes = 16;
const noReplica = -1;

/** Moves behind the partition. */
function bringsSomething(decoder: Decoder): boolean {
  const { buffer, offset } = decoder;
  const aborted = Math.max(0, buffer.readInt32BE(offset + abortedTransactionsAt));
  const replicaAt = offset + abortedTransactionsAt + 4 + aborted * abortedTransactionBytes;
  const recordBytes = Math.max(0, buffer.readInt32BE(replicaAt + 4));
  decoder.offset = replicaAt + 8 + recordBytes;
  return (
    recordBytes > 0 ||
    buffer.readInt16BE(offset + errorCodeAt) !== 0 ||
    buffer.readInt32BE(replicaAt) !== noReplica
  );
}

async function decodePartition(decoder: Decoder, mostRecords: number): Promise<FetchedPartition> {
  const header = {
    partition: decoder.readInt32(),
    errorCode: decoder.readInt16(),
    highWatermark: decoder.readInt64().toString(),
    lastStableOffset: decoder.readInt64().toString(),
    lastStartOffset: decoder.readInt64().toString(),
    abortedTransactions: decoder.readArray((each) => ({
      producerId: each.readInt64().toString(),
      firstOffset: each.readInt64().toString(),
    })),
    preferredReadReplica: decoder.readInt32(),
  };
  const { records: messages, ...read } = await decodeRecords(
    decoder.readBytes(Math.max(0, decoder.readInt32())),
    mostRecords,
  );
  hideAborted(messages, header.abortedTransactions);
  return { ...header, ...read, abortedTransactions: [], messages };
}

async function decodeRecords(bytes: Buffer, mostRecords: number): Promise<ReadRecords> {
  if (bytes.length === 0) return { records: [], lastOffset: undefined, problem: undefined };
  if (areRecordBatches(bytes))
    return readRecordBatches(bytes.subarray(0, bytesOfFirst(bytes, mostRecords)));
  const old = await decodeMessageSet(new KafkaDecoder(bytes), bytes.length);
  const context = { producerId: '-1', inTransaction: false };
  const records = old.map(
    ({ offset, timestamp = '-1', key, value }) =>
      new FetchedRecord(Number(offset), Number(timestamp), key, value, {}, context, false),
  );
  return { records, lastOffset: records.at(-1)?.offsetNumber, problem: undefined };
}
