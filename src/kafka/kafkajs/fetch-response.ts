import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Pace } from '../pace.ts';
import { hideAborted, type AbortedTransaction, type DecodedRecord } from './aborted-records.ts';

/** The part of kafkajs's Decoder that a fetch response needs. */
interface Decoder {
  readonly buffer: Buffer;
  offset: number;
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readString(): string;
  readArray<T>(read: (decoder: Decoder) => T): T[];
}

export interface FetchedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly preferredReadReplica: number;
  readonly abortedTransactions: readonly AbortedTransaction[];
  readonly messages: readonly DecodedRecord[];
}

export interface FetchResponse {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly FetchedPartition[];
  }[];
}

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol';
const KafkaDecoder = require(`${protocol}/decoder`) as new (bytes: Buffer) => Decoder;
const decodeMessages = require(`${protocol}/requests/fetch/v4/decodeMessages`) as (
  decoder: Decoder,
) => Promise<DecodedRecord[]>;

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
  shorten(decoder, mostRecords);
  const messages = await decodeMessages(decoder);
  hideAborted(messages, header.abortedTransactions);
  return { ...header, abortedTransactions: [], messages };
}

/** Where fields are, from a record batch's first byte. */
const batchLengthAt = 8;
const magicAt = 16;
const recordCountAt = 57;
const batchHeaderBytes = 61;
const magic = 2;

/** Writes a smaller size before the partition's record batches, if the first of them hold enough records. */
function shorten({ buffer, offset }: Decoder, mostRecords: number): void {
  const begin = offset + 4;
  const end = begin + buffer.readInt32BE(offset);
  let records = 0;
  for (let at = begin; at + batchHeaderBytes <= end;) {
    if (buffer[at + magicAt] !== magic) return;
    records += buffer.readInt32BE(at + recordCountAt);
    at += batchLengthAt + 4 + buffer.readInt32BE(at + batchLengthAt);
    if (records < mostRecords) continue;
    if (at < end) buffer.writeInt32BE(at - begin, offset);
    return;
  }
}
