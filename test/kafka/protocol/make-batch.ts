import { createRequire } from 'node:module';
import { codecOf } from '../../../src/kafka/protocol/codecs.ts';
import type { AbortedTransaction } from '../../../src/kafka/protocol/fetch.ts';
import { FetchedRecords } from '../../../src/kafka/protocol/fetched-records.ts';

/** Batches as Kafka has them, from the protocol's own description and with checksums by kafkajs. */

const require = createRequire(import.meta.url);
const theirCrc32c = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;

export const logAppendTime = 0x8;
export const transactional = 0x10;
export const control = 0x20;

export interface MadeRecord {
  readonly offsetDelta?: number;
  readonly timestampDelta?: number;
  readonly key?: Buffer | string | null;
  readonly value?: Buffer | string | null;
  readonly headers?: readonly (readonly [name: string, value: Buffer | string | null])[];
}

export interface MadeBatch {
  readonly firstOffset?: number;
  readonly lastOffsetDelta?: number;
  readonly epoch?: number;
  readonly codec?: number;
  /** Beside the codec. */
  readonly attributes?: number;
  readonly firstTimestampMs?: number;
  readonly maxTimestampMs?: number;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly count?: number;
  readonly records?: readonly MadeRecord[];
  /** In place of the records' own bytes. */
  readonly unpacked?: Buffer;
}

/** Of version 2. */
export function makeBatch({ records = [], ...batch }: MadeBatch): Buffer {
  const { firstOffset = 0, epoch = 0, codec = 0, attributes = 0 } = batch;
  const { producerId = -1, producerEpoch = 0 } = batch;
  const { firstTimestampMs = 0, maxTimestampMs = firstTimestampMs, count = records.length } = batch;
  const lastDelta = records.reduce(
    (last, { offsetDelta }, i) => Math.max(last, offsetDelta ?? i),
    0,
  );
  const { unpacked = Buffer.concat(records.map(makeRecord)) } = batch;
  const packed = codecOf(codec)?.compress(unpacked) ?? unpacked;
  const header = Buffer.alloc(61);
  header.writeBigInt64BE(BigInt(firstOffset), 0);
  header.writeInt32BE(49 + packed.length, 8);
  header.writeInt32BE(epoch, 12);
  header.writeInt8(2, 16);
  header.writeInt16BE(codec | attributes, 21);
  header.writeInt32BE(batch.lastOffsetDelta ?? lastDelta, 23);
  header.writeBigInt64BE(BigInt(firstTimestampMs), 27);
  header.writeBigInt64BE(BigInt(maxTimestampMs), 35);
  header.writeBigInt64BE(BigInt(producerId), 43);
  header.writeInt16BE(producerId < 0 ? -1 : producerEpoch, 51);
  header.writeInt32BE(-1, 53);
  header.writeInt32BE(count, 57);
  return sealed(Buffer.concat([header, packed]));
}

/** With the checksum of what it is now. */
export function sealed(batch: Buffer): Buffer {
  batch.writeUInt32BE(theirCrc32c(batch.subarray(21)), 17);
  return batch;
}

export function makeRecord(record: MadeRecord, index: number): Buffer {
  const {
    offsetDelta = index,
    timestampDelta = 0,
    key = null,
    value = null,
    headers = [],
  } = record;
  const attributes = Buffer.alloc(1);
  const body = Buffer.concat([
    attributes,
    varint(timestampDelta),
    varint(offsetDelta),
    field(key),
    field(value),
    varint(headers.length),
    ...headers.flatMap(([name, each]) => [field(name), field(each)]),
  ]);
  return Buffer.concat([varint(body.length), body]);
}

function field(value: Buffer | string | null): Buffer {
  if (value === null) return varint(-1);
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(bytes.length), bytes]);
}

/** Zigzag, of up to 64 bits. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value) * 2n;
  if (value < 0) rest = -rest - 1n;
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

/** The end of a producer's transaction. */
export function makeMarker(
  firstOffset: number,
  producerId: number,
  type: 'abort' | 'commit',
  producerEpoch: number = 0,
): Buffer {
  const key = Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1]);
  const value = Buffer.alloc(6);
  const attributes = transactional | control;
  return makeBatch({
    firstOffset,
    producerId,
    producerEpoch,
    attributes,
    records: [{ key, value }],
  });
}

export interface Shown {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly flaw: string | undefined;
  /** Behind it. */
  readonly position: number;
}

export interface Reading {
  readonly shown: readonly Shown[];
  readonly position: number;
  readonly epoch: number;
  readonly problem: string | undefined;
}

/** All that is shown of the bytes, and where that ends. */
export function readAll(
  bytes: Buffer,
  fromOffset: number = 0,
  aborted: readonly AbortedTransaction[] = [],
): Reading {
  const records = new FetchedRecords(bytes, fromOffset, aborted);
  const shown: Shown[] = [];
  while (records.next()) shown.push(current(records));
  const { position, epoch, problem } = records;
  return { shown, position, epoch, problem: problem?.message };
}

export function current(records: FetchedRecords): Shown {
  const { offset, timestampMs, key, value, flaw, position } = records;
  const headers: Record<string, string | undefined> = {};
  for (const [name, each] of Object.entries(records.headers))
    Object.defineProperty(headers, name, { value: each?.toString(), enumerable: true });
  return {
    offset,
    timestampMs,
    key: key?.toString() ?? null,
    value: value?.toString() ?? null,
    headers,
    flaw,
    position,
  };
}

export function offsetsOf({ shown }: Reading): number[] {
  return shown.map(({ offset }) => offset);
}
