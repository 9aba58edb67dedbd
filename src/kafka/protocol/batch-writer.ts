import { GrowingBuffer } from '../growing-buffer.ts';
import { ByteWriter } from './fields.ts';
import type { Compressor, Packed } from './compressor.ts';
import { crc32c } from './crc32c.ts';

type Field = Buffer | string | null;

/** A record in a batch. Its time is that of the batch. */
export interface BatchRecord {
  readonly key?: Field;
  readonly value?: Field;
  readonly headers?: Readonly<Record<string, Field>>;
}

/** The writer of a batch, and the sequence number of the batch's first record in the partition. */
export interface BatchOrigin {
  readonly producerId: number;
  readonly epoch: number;
  readonly sequence: number;
  readonly isTransactional?: boolean;
}

/**
 * Encodes a record batch of version 2, with at least one record. @see
 * https://kafka.apache.org/documentation/#recordbatch
 */
export function encodeBatch(
  records: readonly BatchRecord[],
  origin: BatchOrigin,
  compressor: Compressor,
  nowMs: number,
): Buffer {
  return frameBatch(compressor.pack(writeRecords(records)), records.length, origin, nowMs);
}

const initialBytes = 4 * 1024;
const written = new GrowingBuffer(initialBytes);

/** Writes records one behind the other, as they are in a batch, into memory that the next call overwrites. */
export function writeRecords(records: readonly BatchRecord[]): Buffer {
  // Removes what a call that threw has left.
  written.bytes = 0;
  former.headers = undefined;
  let offsetDelta = 0;
  for (const record of records) writeRecord(record, offsetDelta++);
  return written.written;
}

const magic = 2;
/** Length of the fields before the first record. */
const headerBytes = 61;
/** End of the length field, which counts what follows. */
const lengthEnd = 12;
const crcEnd = 21;
const crcBytes = 4;
const transactional = 0x10;

/** Puts a batch's header before its records. */
export function frameBatch(
  { codecId, bytes }: Packed,
  count: number,
  { producerId, epoch, sequence, isTransactional = false }: BatchOrigin,
  nowMs: number,
): Buffer {
  const firstOffset = 0;
  const leaderEpoch = 0;
  const crc = 0;
  const { buffer } = new ByteWriter(headerBytes + bytes.length)
    .int64(firstOffset)
    .int32(headerBytes - lengthEnd + bytes.length)
    .int32(leaderEpoch)
    .int8(magic)
    .int32(crc)
    .int16(codecId | (isTransactional ? transactional : 0))
    .int32(count - 1)
    .int64(nowMs)
    .int64(nowMs)
    .int64(producerId)
    .int16(epoch)
    .int32(sequence)
    .int32(count)
    .bytes(bytes);
  buffer.writeUInt32BE(crc32c(buffer.subarray(crcEnd)), crcEnd - crcBytes);
  return buffer;
}

const attributesAndTimestampBytes = 2;

/** The headers of the record before, and where they were written: calls of one request share theirs. */
const former: { headers: BatchRecord['headers']; from: number; to: number } = {
  headers: undefined,
  from: 0,
  to: 0,
};
const noHeaders: Readonly<Record<string, Field>> = {};

function writeRecord(
  { key = null, value = null, headers = noHeaders }: BatchRecord,
  offsetDelta: number,
): void {
  const isAsBefore = headers === former.headers;
  const keyBytes = lengthOf(key);
  const valueBytes = lengthOf(value);
  let bodyBytes = attributesAndTimestampBytes + varintBytes(offsetDelta);
  bodyBytes += fieldBytes(keyBytes) + fieldBytes(valueBytes);
  bodyBytes += isAsBefore ? former.to - former.from : headersBytes(headers);
  written.makeRoom(varintBytes(bodyBytes) + bodyBytes);

  const bytes = written.buffer;
  let at = writeVarint(bytes, written.bytes, bodyBytes);
  // No attributes, and no difference from the batch's timestamp.
  bytes[at++] = 0;
  bytes[at++] = 0;
  at = writeVarint(bytes, at, offsetDelta);
  at = writeField(bytes, at, key, keyBytes);
  at = writeField(bytes, at, value, valueBytes);
  const from = at;
  at = isAsBefore ? copyHeaders(bytes, at) : writeHeaders(bytes, at, headers);
  former.headers = headers;
  former.from = from;
  former.to = at;
  written.bytes = at;
}

function headersBytes(headers: Readonly<Record<string, Field>>): number {
  const names = Object.keys(headers);
  let bytes = varintBytes(names.length);
  for (const name of names)
    bytes += fieldBytes(lengthOf(name)) + fieldBytes(lengthOf(headers[name] as Field));
  return bytes;
}

function writeHeaders(
  bytes: Buffer,
  start: number,
  headers: Readonly<Record<string, Field>>,
): number {
  const names = Object.keys(headers);
  let at = writeVarint(bytes, start, names.length);
  for (const name of names) {
    const header = headers[name] as Field;
    at = writeField(bytes, at, name, lengthOf(name));
    at = writeField(bytes, at, header, lengthOf(header));
  }
  return at;
}

function copyHeaders(bytes: Buffer, at: number): number {
  bytes.copyWithin(at, former.from, former.to);
  return at + former.to - former.from;
}

function lengthOf(field: Field): number {
  if (field === null) return -1;
  return typeof field === 'string' ? Buffer.byteLength(field) : field.length;
}

function fieldBytes(length: number): number {
  return varintBytes(length) + Math.max(0, length);
}

function writeField(bytes: Buffer, at: number, field: Field, length: number): number {
  const start = writeVarint(bytes, at, length);
  if (field === null) return start;
  if (typeof field === 'string') bytes.write(field, start, length);
  else bytes.set(field, start);
  return start + length;
}

/** Zigzag, then seven bits a byte, the lowest first. */
function varintBytes(value: number): number {
  let rest = zigzag(value);
  let count = 1;
  for (; rest > 0x7f; rest >>>= 7) count += 1;
  return count;
}

function writeVarint(bytes: Buffer, at: number, value: number): number {
  let rest = zigzag(value);
  let next = at;
  for (; rest > 0x7f; rest >>>= 7) bytes[next++] = (rest & 0x7f) | 0x80;
  bytes[next++] = rest;
  return next;
}

function zigzag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}
