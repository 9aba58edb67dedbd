import { FetchedRecord, type BatchContext, type FetchedHeaders } from './fetched-record.ts';
import { requireOwn } from './own-copy.ts';
import { batchHeaderBytes, batchLengthEnd, magic, transactional } from './record-batch.ts';

interface Codec {
  decompress(bytes: Buffer): Buffer | Promise<Buffer>;
}

const { lookupCodecByAttributes } = requireOwn('src/protocol/message/compression') as {
  /** Null for records that are not compressed. */
  readonly lookupCodecByAttributes: (attributes: number) => Codec | null;
};

/** Where fields are, from a record batch's first byte. */
const lengthAt = 8;
const magicAt = 16;
const attributesAt = 21;
const lastOffsetDeltaAt = 23;
const firstTimestampAt = 27;
const maxTimestampAt = 35;
const producerIdAt = 43;
const recordCountAt = 57;

const logAppendTime = 0x8;
const control = 0x20;

/** Of version 2, as since Kafka 0.11; a topic may still hold what was written before. */
export function areRecordBatches(bytes: Buffer): boolean {
  return bytes[magicAt] === magic;
}

/**
 * How many bytes of the batches hold at least so many records, in whole batches; all if they hold fewer,
 * or if some are of another version.
 */
export function bytesOfFirst(batches: Buffer, mostRecords: number): number {
  let records = 0;
  for (let at = 0; at + batchHeaderBytes <= batches.length;) {
    if (batches[at + magicAt] !== magic) break;
    records += batches.readInt32BE(at + recordCountAt);
    at += batchLengthEnd + batches.readInt32BE(at + lengthAt);
    if (records >= mostRecords) return Math.min(at, batches.length);
  }
  return batches.length;
}

export interface ReadRecords {
  /** With slices of what they are in. */
  readonly records: readonly FetchedRecord[];
  /** Of the last batch that was read, also where compaction has removed its last records; undefined: none. */
  readonly lastOffset: number | undefined;
  /** Why the batch behind these cannot be read. */
  readonly problem: Error | undefined;
}

/** All that can be read. The last batch may have been cut off: it is left out. */
export async function readRecordBatches(batches: Buffer): Promise<ReadRecords> {
  const records: FetchedRecord[] = [];
  let lastOffset: number | undefined;
  for (let at = 0; at + batchHeaderBytes <= batches.length;) {
    const end = at + batchLengthEnd + batches.readInt32BE(at + lengthAt);
    if (end > batches.length) break;
    const before = records.length;
    try {
      await readBatch(batches.subarray(at, end), records);
    } catch (error) {
      records.length = before;
      const problem = error instanceof Error ? error : new Error(String(error));
      return { records, lastOffset, problem };
    }
    lastOffset = readInt64(batches, at) + batches.readInt32BE(at + lastOffsetDeltaAt);
    at = end;
  }
  return { records, lastOffset, problem: undefined };
}

async function readBatch(batch: Buffer, records: FetchedRecord[]): Promise<void> {
  const attributes = batch.readInt16BE(attributesAt);
  const count = batch.readInt32BE(recordCountAt);
  if (count <= 0) return;
  const context: BatchContext = {
    producerId: batch.readBigInt64BE(producerIdAt).toString(),
    inTransaction: (attributes & transactional) !== 0,
  };
  const isControl = (attributes & control) !== 0;
  const firstOffset = readInt64(batch, 0);
  const firstTimestampMs = readInt64(batch, firstTimestampAt);
  const appendedMs =
    (attributes & logAppendTime) === 0 ? undefined : readInt64(batch, maxTimestampAt);
  const stored = batch.subarray(batchHeaderBytes);
  const codec = lookupCodecByAttributes(attributes);
  const fields = new FieldReader(codec === null ? stored : await codec.decompress(stored));
  for (let left = count; left > 0; left -= 1) {
    // Its length, and attributes, which no record has yet.
    fields.varint();
    fields.at += 1;
    const timestampMs = fields.varlong() + firstTimestampMs;
    const offset = fields.varint() + firstOffset;
    const key = fields.bytes();
    const value = fields.bytes();
    const headers = fields.headers();
    records.push(
      new FetchedRecord(offset, appendedMs ?? timestampMs, key, value, headers, context, isControl),
    );
  }
}

/** Reads what a batch holds, from its beginning on. */
class FieldReader {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Zigzag, seven bits a byte, the lowest first: of 32 bits. */
  varint(): number {
    let rest = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#next();
      rest |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (rest >>> 1) ^ -(rest & 1);
    }
  }

  /** Of 64 bits; exact up to 2^52. */
  varlong(): number {
    let rest = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#next();
      rest += (byte & 0x7f) * factor;
      if (byte < 0x80) return rest % 2 === 0 ? rest / 2 : -(rest + 1) / 2;
    }
  }

  bytes(): Buffer | null {
    const length = this.varint();
    if (length < 0) return null;
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  /** Of one that repeats, the last counts. */
  headers(): FetchedHeaders {
    const headers: Record<string, Buffer | undefined> = {};
    for (let left = this.varint(); left > 0; left -= 1) {
      const name = this.#name();
      const value = this.bytes() ?? undefined;
      if (name === '__proto__') setOwn(headers, name, value);
      else headers[name] = value;
    }
    return headers;
  }

  #name(): string {
    const length = this.varint();
    this.at += length;
    return knownName(this.#bytes, this.at - length, this.at);
  }

  #next(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new RangeError('a record ends before its last field');
    this.at += 1;
    return byte;
  }
}

/** Assigned, it would become the object's prototype. */
function setOwn(headers: object, name: string, value: Buffer | undefined): void {
  Object.defineProperty(headers, name, {
    ...{ value, enumerable: true, configurable: true, writable: true },
  });
}

/** Most records have the same header as the one before: its name is made once. */
let lastName = '';
let lastNameBytes = Buffer.alloc(0);

function knownName(bytes: Buffer, from: number, to: number): string {
  if (to - from !== lastNameBytes.length || lastNameBytes.compare(bytes, from, to) !== 0) {
    lastNameBytes = Buffer.from(bytes.subarray(from, to));
    lastName = lastNameBytes.toString();
  }
  return lastName;
}

/** Exact up to 2^53, as are all offsets and times. */
function readInt64(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}
