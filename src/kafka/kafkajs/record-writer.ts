import { GrowingBuffer } from '../growing-buffer.ts';

type Bytes = Buffer | string | null;

/** A record as kafkajs encodes it into a batch. */
export interface BatchRecord {
  readonly key?: Bytes;
  readonly value?: Bytes;
  readonly headers?: Readonly<Record<string, Bytes | readonly Bytes[]>>;
  readonly timestamp?: string | null;
}

/** Whether it has nothing that we never write: a timestamp of its own, a header with several values or none. */
export function isPlain({ timestamp, headers = {} }: BatchRecord): boolean {
  if (timestamp !== undefined && timestamp !== null) return false;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value !== 'string' && !Buffer.isBuffer(value)) return false;
  }
  return true;
}

const initialBytes = 4 * 1024;

/** Writes plain records one behind the other, as they are in a batch, into memory that is used again. */
export class RecordWriter {
  readonly #records = new GrowingBuffer(initialBytes);

  add({ key = null, value = null, headers = {} }: BatchRecord, offsetDelta: number): void {
    const names = Object.keys(headers);
    const keyBytes = lengthOf(key);
    const valueBytes = lengthOf(value);
    let bodyBytes = attributesAndTimestampBytes + varintBytes(offsetDelta);
    bodyBytes += fieldBytes(keyBytes) + fieldBytes(valueBytes) + varintBytes(names.length);
    for (const name of names)
      bodyBytes += fieldBytes(lengthOf(name)) + fieldBytes(lengthOf(headers[name] as Bytes));
    this.#records.makeRoom(varintBytes(bodyBytes) + bodyBytes);

    const bytes = this.#records.buffer;
    let at = writeVarint(bytes, this.#records.bytes, bodyBytes);
    // No attributes, and no difference to the batch's timestamp.
    bytes[at++] = 0;
    bytes[at++] = 0;
    at = writeVarint(bytes, at, offsetDelta);
    at = writeField(bytes, at, key, keyBytes);
    at = writeField(bytes, at, value, valueBytes);
    at = writeVarint(bytes, at, names.length);
    for (const name of names) {
      const header = headers[name] as Bytes;
      at = writeField(bytes, at, name, lengthOf(name));
      at = writeField(bytes, at, header, lengthOf(header));
    }
    this.#records.bytes = at;
  }

  /** Of all that were added since the last time; overwritten by the next ones. */
  take(): Buffer {
    const taken = this.#records.written;
    this.#records.bytes = 0;
    return taken;
  }
}

const attributesAndTimestampBytes = 2;

function lengthOf(field: Bytes): number {
  if (field === null) return -1;
  return typeof field === 'string' ? Buffer.byteLength(field) : field.length;
}

function fieldBytes(length: number): number {
  return varintBytes(length) + Math.max(0, length);
}

function writeField(bytes: Buffer, at: number, field: Bytes, length: number): number {
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
