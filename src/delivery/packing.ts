import { envelopeHeader } from '../event/envelope.ts';
import { TakenRecord, type RecordOwner } from '../kafka/consume/taken-record.ts';
import { GrowingBuffer } from '../kafka/growing-buffer.ts';
import type { IncomingRecord } from '../kafka/record.ts';

/** A record's content in its packed form. */
export interface PackedRecord {
  readonly key: Buffer | null;
  /** The record's only header: an event's envelope, or a bundle's header. */
  readonly header: Buffer;
  readonly value: Buffer;
}

const lengthBytes = 4;
const noKey = -1;

export function packedBytes(key: Buffer | null, headerBytes: number, value: Buffer): number {
  return 3 * lengthBytes + (key?.length ?? 0) + headerBytes + value.length;
}

/**
 * Writes the length of the key (-1: none), the key, and likewise the header and the value. Returns the end of
 * what it wrote.
 */
export function packRecord(
  into: Buffer,
  start: number,
  key: Buffer | null,
  header: Buffer | string,
  value: Buffer,
): number {
  let at = into.writeInt32BE(key?.length ?? noKey, start);
  if (key !== null) at += key.copy(into, at);
  const headerStart = at + lengthBytes;
  const headerBytes =
    typeof header === 'string' ? into.write(header, headerStart) : header.copy(into, headerStart);
  at = into.writeInt32BE(headerBytes, at) + headerBytes;
  at = into.writeInt32BE(value.length, at);
  return at + value.copy(into, at);
}

const initialBytes = 2_048;

/**
 * Packs events one behind the other. Events are copied at once, so that their own buffers can be collected.
 */
export class EventPacker {
  readonly #packed = new GrowingBuffer(initialBytes);

  /** Bytes that are packed so far. */
  get bytes(): number {
    return this.#packed.bytes;
  }

  /** Starts again; what `packed` returned before is overwritten. */
  reset(): void {
    this.#packed.bytes = 0;
  }

  add(key: Buffer | null, envelope: Buffer | string, body: Buffer): void {
    const packed = this.#packed;
    packed.makeRoom(packedBytes(key, Buffer.byteLength(envelope), body));
    packed.bytes = packRecord(packed.buffer, packed.bytes, key, envelope, body);
  }

  get packed(): Buffer {
    return this.#packed.written;
  }
}

/**
 * Slices of `packed`; undefined if its end is not the end of a record, or it holds more than `most` records.
 */
export function unpackRecords(packed: Buffer, most: number): PackedRecord[] | undefined {
  const records: PackedRecord[] = [];
  let at = 0;
  while (at < packed.length) {
    const record = records.length < most ? unpackRecord(packed, at) : undefined;
    if (record === undefined) return undefined;
    records.push(record);
    at = endOf(record, at);
  }
  return records;
}

/** A slice of `packed`; undefined if no whole record begins at `at`. */
export function unpackRecord(packed: Buffer, start: number): PackedRecord | undefined {
  const keyEnd = endOfField(packed, start, noKey);
  const headerEnd = endOfField(packed, keyEnd, 0);
  const valueEnd = endOfField(packed, headerEnd, 0);
  if (Number.isNaN(valueEnd)) return undefined;
  const hasKey = packed.readInt32BE(start) !== noKey;
  return {
    key: hasKey ? packed.subarray(start + lengthBytes, keyEnd) : null,
    header: packed.subarray(keyEnd + lengthBytes, headerEnd),
    value: packed.subarray(headerEnd + lengthBytes, valueEnd),
  };
}

function endOf({ key, header, value }: PackedRecord, start: number): number {
  return start + packedBytes(key, header.length, value);
}

/** NaN if the field is cut off, or has an impossible length. */
function endOfField(packed: Buffer, at: number, leastLength: number): number {
  if (!(at + lengthBytes <= packed.length)) return NaN;
  const length = packed.readInt32BE(at);
  const end = at + lengthBytes + Math.max(length, 0);
  return length >= leastLength && end <= packed.length ? end : NaN;
}

type Place = Pick<IncomingRecord, 'topic' | 'partition' | 'offset' | 'timestampMs'>;

/** Makes a record of packed content, with the place where it was read. */
export function recordAt(
  { topic, partition, offset, timestampMs }: Place,
  { key, header, value }: PackedRecord,
  owner: RecordOwner,
  slot: number,
): TakenRecord {
  const headers: Record<string, Buffer> = {};
  headers[envelopeHeader] = header;
  return new TakenRecord(
    { topic, partition, offset, timestampMs, key, value, headers },
    owner,
    slot,
  );
}
