import { crc32 } from 'node:zlib';
import { noHeaders, type Headers } from './batch-records.ts';
import { readInt64 } from './byte-reader.ts';
import { partOf } from './bulky.ts';
import { compareChecksums } from './checksums.ts';
import { codecOf, type Codec } from './codecs.ts';

/** Where fields are, from a message's first byte. */
const lengthAt = 8;
const lengthEnd = 12;
const checksumAt = 12;
const magicAt = 16;
const attributesAt = 17;
const timestampAt = 18;

const shortestBytes = 26;
const logAppendTime = 0x8;
const noTimestamp = -1;

/**
 * A message of version 0 or 1, as they were written before Kafka 0.11, or several that are compressed as one.
 */
export interface OldEntry {
  /** Offset of the last message in it. */
  readonly lastOffset: number;
  /** Undefined: `stored` is the message itself. */
  readonly codec: Codec | undefined;
  readonly stored: Buffer;
  /** Of version 1 and compressed: the offsets within are relative to the first one. */
  readonly hasRelativeOffsets: boolean;
  /** Counts for all messages in the entry; undefined: each has its own time. */
  readonly appendedMs: number | undefined;
}

/** @throws RangeError when the bytes are not a message, or the checksum is wrong */
export function openOldEntry(bytes: Buffer): OldEntry {
  const { offset, magic, attributes, timestampMs, value } = messageAt(bytes, 0);
  const codec = codecOf(attributes);
  if (codec !== undefined && value === null) throw new RangeError('a compressed message is empty');
  const isAppended = codec !== undefined && magic > 0 && (attributes & logAppendTime) !== 0;
  return {
    lastOffset: offset,
    codec,
    stored: codec === undefined ? bytes : (value ?? bytes),
    hasRelativeOffsets: codec !== undefined && magic > 0,
    appendedMs: isAppended ? timestampMs : undefined,
  };
}

/** Iterates over the messages of an entry, and has the fields of the current one. */
export class OldMessages {
  offset = -1;
  timestampMs: number = noTimestamp;
  key: Buffer | null = null;
  value: Buffer | null = null;
  /** Old messages have no headers. */
  readonly headers: Headers = noHeaders;
  readonly flaw = undefined;
  sizeBytes = 0;
  /** Unpacked. Code that takes it away between reads has to put the same bytes back. */
  bytes: Buffer;
  readonly #entry: OldEntry;
  readonly #bytesInAll: number;
  /** Added to the offsets as they are written. */
  readonly #baseOffset: number;
  #at = 0;

  /** @throws RangeError when the bytes are not such messages */
  constructor(bytes: Buffer, entry: OldEntry) {
    this.bytes = bytes;
    this.#entry = entry;
    this.#bytesInAll = bytes.length;
    this.#baseOffset = entry.hasRelativeOffsets ? entry.lastOffset - lastOffsetIn(bytes) : 0;
  }

  get isDone(): boolean {
    return this.#at === this.#bytesInAll;
  }

  /**
   * Moves to the next message that is not before the offset; false: there is none.
   * @throws RangeError when the bytes are not such messages
   */
  next(fromOffset: number): boolean {
    while (!this.isDone) {
      const message = messageAt(this.bytes, this.#at);
      if (this.#entry.codec !== undefined && codecOf(message.attributes) !== undefined)
        throw new RangeError('it holds a message that is compressed once more');
      this.sizeBytes = message.end - this.#at;
      this.#at = message.end;
      this.#moveTo(this.#baseOffset + message.offset);
      if (this.offset < fromOffset) continue;
      this.timestampMs = this.#entry.appendedMs ?? message.timestampMs;
      this.key = message.key;
      this.value = message.value;
      return true;
    }
    return false;
  }

  #moveTo(offset: number): void {
    if (offset <= this.offset || offset > this.#entry.lastOffset)
      throw new RangeError(
        `offset ${offset} comes behind ${this.offset}, and ${this.#entry.lastOffset} is its last`,
      );
    this.offset = offset;
  }
}

interface OldMessage {
  /** Of its bytes. */
  readonly end: number;
  readonly offset: number;
  readonly magic: number;
  readonly attributes: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

function messageAt(bytes: Buffer, at: number): OldMessage {
  const end = endOf(bytes, at);
  const magic = bytes.readInt8(at + magicAt);
  if (magic !== 0 && magic !== 1) throw new RangeError(`it holds a message of version ${magic}`);
  compareChecksums(bytes.readUInt32BE(at + checksumAt), crc32(bytes.subarray(at + magicAt, end)));
  const keyAt = magic === 0 ? timestampAt : timestampAt + 8;
  const key = fieldAt(bytes, at + keyAt, end);
  const value = fieldAt(bytes, at + keyAt + 4 + (key?.length ?? 0), end);
  return {
    end,
    offset: readInt64(bytes, at),
    magic,
    attributes: bytes.readInt8(at + attributesAt),
    timestampMs: magic === 0 ? noTimestamp : readInt64(bytes, at + timestampAt),
    key,
    value,
  };
}

function endOf(bytes: Buffer, at: number): number {
  const end =
    at + shortestBytes > bytes.length ? NaN : at + lengthEnd + bytes.readInt32BE(at + lengthAt);
  if (!(end >= at + shortestBytes && end <= bytes.length))
    throw new RangeError('a message does not end within it');
  return end;
}

function fieldAt(bytes: Buffer, at: number, messageEnd: number): Buffer | null {
  const length = at + 4 > messageEnd ? NaN : bytes.readInt32BE(at);
  if (length < 0) return null;
  const end = at + 4 + length;
  if (!(end <= messageEnd)) throw new RangeError('a field does not end within its message');
  return partOf(bytes, at + 4, end);
}

/** The offset as it is written. */
function lastOffsetIn(bytes: Buffer): number {
  let last = 0;
  for (let at = 0; at < bytes.length; at = endOf(bytes, at)) last = readInt64(bytes, at);
  return last;
}
