import { asError } from '../../errors.ts';
import {
  attributesAt,
  epochAt,
  lastOffsetDeltaAt,
  lengthAt,
  lengthEnd,
  magicAt,
  readBatchHeader,
  type BatchHeader,
} from './batch-header.ts';
import { BatchRecords, isBulky, noHeaders, type Headers } from './batch-records.ts';
import { readInt64 } from './fields.ts';
import { codecOf, type Codec } from './codecs.ts';
import type { AbortedTransaction } from './fetch.ts';

const noEpoch = -1;
/** The version of the format that all brokers from Kafka 3.0 on write, whatever producers send. */
const readableMagic = 2;
const abortMarker = 0;
/** Takes the place of unpacked bytes during a pause. */
const released = Buffer.alloc(0);

/**
 * Lets a reader that searches for something skip batches, because reading them record by record takes much
 * longer. A batch that may contain it is read as a whole.
 */
export interface Wanted {
  /**
   * The places where it may begin in the stored bytes, ascending, over many batches; undefined: not known before they
   * are unpacked. Used for bytes that are not compressed, or compressed with LZ4 or snappy, which leave most
   * new content as it is.
   */
  placesIn(stored: Buffer): readonly number[] | undefined;
  /** Tells whether it may be among the records of a batch. */
  mayBeIn(unpacked: Buffer): boolean;
}

/** The records of a batch, and the bytes to unpack them again. */
interface Opened {
  readonly records: BatchRecords;
  readonly stored: Buffer;
  readonly codec: Codec | undefined;
}

/**
 * Iterates over the records that a fetch brought of one partition, and decompresses a batch when it is
 * reached.
 */
export class FetchedRecords {
  // The offset of the current record. Key, value and headers are slices of the batch, or copies if the batch
  // is bulky.
  offset: number = -1;
  timestampMs: number = -1;
  key: Buffer | null = null;
  value: Buffer | null = null;
  headers: Headers = noHeaders;
  /** Why the record's headers were left out; undefined: they are complete. */
  flaw: string | undefined = undefined;
  /** The size of the record as it was written, headers included. */
  sizeBytes: number = 0;
  /** The offset to read next: behind everything that was passed, including hidden records. */
  position: number;
  /** Leader epoch of the last batch that was passed or entered; -1: none. */
  epoch: number = noEpoch;
  /** `next` has returned false. */
  isOver = false;
  /** Why what comes next cannot be read, after `next` has returned false for that reason. */
  problem: Error | undefined = undefined;
  /** Length of the largest whole batch that was reached, including its first fields; 0: none. */
  largestBytes = 0;
  /**
   * Length of the batch that is cut off at the end, once that is reached; undefined: none, or too little of
   * it is there.
   */
  cutBytes: number | undefined = undefined;
  readonly #bytes: Buffer;
  readonly #fromOffset: number;
  readonly #wanted: Wanted | undefined;
  /** The places in all the bytes where something begins that makes a batch worth unpacking. */
  readonly #places: readonly number[] | undefined;
  #nextPlace = 0;
  readonly #aborts: OpenAborts | undefined;
  #opened: Opened | undefined;
  /** The place where the next batch begins. */
  #at = 0;
  /** Offset of the batch that was reached last. */
  #entryOffset = -1;
  #lastOffset = -1;

  /**
   * @param bytes record batches, of which the last may be cut off
   * @param fromOffset the offset of the request; the first batch may begin before it
   * @param wanted default: every batch is
   */
  constructor(
    bytes: Buffer,
    fromOffset: number,
    aborted: readonly AbortedTransaction[],
    wanted?: Wanted,
  ) {
    this.#bytes = bytes;
    this.#wanted = wanted;
    this.#places = wanted?.placesIn(bytes);
    this.#fromOffset = fromOffset;
    this.position = fromOffset;
    this.#aborts = aborted.length === 0 ? undefined : new OpenAborts(aborted);
  }

  /** Moves to the next record. False: there is none, or it cannot be read, which `problem` then explains. */
  next(): boolean {
    this.isOver = !this.#moveToNext();
    return !this.isOver;
  }

  #moveToNext(): boolean {
    if (this.problem !== undefined) return false;
    try {
      do if (this.#opened !== undefined && this.#showNext(this.#opened)) return true;
      while (this.#reachNext());
    } catch (error) {
      this.#opened = undefined;
      const why = asError(error).message;
      const what = `the batch at offset ${this.#entryOffset} cannot be read: ${why}`;
      this.problem = new Error(what, { cause: error });
    }
    return false;
  }

  /** For a reader that pauses: drops the unpacked bytes of a bulky batch, which `next` then unpacks again. */
  pause(): void {
    const records = this.#opened?.records;
    if (records !== undefined && isBulky(records.bytes)) records.bytes = released;
  }

  #showNext({ records, stored, codec }: Opened): boolean {
    if (records.bytes === released) records.bytes = unpack(stored, codec);
    const isThere = records.next(this.#fromOffset);
    if (records.isDone) this.#pass();
    if (!isThere) return false;
    this.offset = records.offset;
    this.timestampMs = records.timestampMs;
    this.key = records.key;
    this.value = records.value;
    this.headers = records.headers;
    this.flaw = records.flaw;
    this.sizeBytes = records.sizeBytes;
    this.position = Math.max(this.position, records.offset + 1);
    return true;
  }

  #pass(): void {
    this.#opened = undefined;
    this.position = Math.max(this.position, this.#lastOffset + 1);
  }

  /** False: there is no further batch, or it is incomplete. */
  #reachNext(): boolean {
    const bytes = this.#bytes;
    const start = this.#at;
    if (start + lengthEnd > bytes.length) return false;
    this.#entryOffset = readInt64(bytes, start);
    const length = bytes.readInt32BE(start + lengthAt);
    if (length <= magicAt - lengthEnd)
      throw new RangeError(`it states a length of ${length} bytes`);
    const end = start + lengthEnd + length;
    if (end > bytes.length) {
      this.cutBytes = end - start;
      return false;
    }
    this.largestBytes = Math.max(this.largestBytes, end - start);
    const magic = bytes.readInt8(start + magicAt);
    if (magic !== readableMagic)
      throw new RangeError(
        `it is of version ${magic}; only version ${readableMagic} can be read, which Kafka has written since 0.11`,
      );
    if (this.#isLeftOut(start, end)) this.#passUnread(start);
    else this.#enterBatch(bytes.subarray(start, end));
    this.#at = end;
    return true;
  }

  /** Tells whether the stored bytes of the batch show that nothing in it is wanted. */
  #isLeftOut(start: number, end: number): boolean {
    const places = this.#places;
    // Every batch of an aborted transaction is read, to find where it ends.
    if (places === undefined || this.#aborts !== undefined) return false;
    if (isScrambled(this.#bytes.readInt16BE(start + attributesAt))) return false;
    while ((places[this.#nextPlace] ?? Infinity) < start) this.#nextPlace += 1;
    return (places[this.#nextPlace] ?? Infinity) >= end;
  }

  #passUnread(start: number): void {
    const lastOffset = this.#entryOffset + this.#bytes.readInt32BE(start + lastOffsetDeltaAt);
    this.#moveTo(this.#entryOffset, lastOffset);
    this.#pass();
    this.epoch = this.#bytes.readInt32BE(start + epochAt);
  }

  #enterBatch(batch: Buffer): void {
    const header = readBatchHeader(batch);
    this.#moveTo(header.firstOffset, header.lastOffset);
    const isHidden = this.#isHidden(header);
    if (isHidden || header.recordCount === 0 || header.lastOffset < this.#fromOffset) this.#pass();
    else {
      const stored = header.records;
      const codec = codecOf(header.attributes);
      const unpacked = unpack(stored, codec);
      if (this.#wanted?.mayBeIn(unpacked) === false) this.#pass();
      else this.#opened = { records: new BatchRecords(unpacked, header), stored, codec };
    }
    this.epoch = header.epoch;
  }

  #moveTo(firstOffset: number, lastOffset: number): void {
    if (firstOffset <= this.#lastOffset)
      throw new RangeError(`the batch before it ends at offset ${this.#lastOffset}`);
    if (lastOffset >= Number.MAX_SAFE_INTEGER)
      throw new RangeError('its last offset is beyond what can be read');
    this.#lastOffset = lastOffset;
  }

  /** Tells whether the batch is a marker, or part of an aborted transaction. */
  #isHidden(header: BatchHeader): boolean {
    const aborts = this.#aborts;
    aborts?.beginUpTo(header.lastOffset);
    if (aborts?.has(header.producerId) !== true) return header.isControl;
    if (header.isControl && isAbort(header)) aborts.end(header.producerId);
    return header.isControl || header.isTransactional;
  }
}

/** Compressed with gzip or zstd, which leave no bytes as they were. */
function isScrambled(attributes: number): boolean {
  const codecId = attributes & 0x7;
  return codecId === 1 || codecId === 4;
}

function unpack(stored: Buffer, codec: Codec | undefined): Buffer {
  return codec === undefined ? stored : codec.decompress(stored);
}

/** A marker's key is its version and its type, two bytes each. */
function isAbort(header: BatchHeader): boolean {
  const marker = new BatchRecords(unpack(header.records, codecOf(header.attributes)), header);
  return marker.next(header.firstOffset) && marker.key?.readInt16BE(2) === abortMarker;
}

/** Tracks, batch by batch, which open transactions will be aborted. */
class OpenAborts {
  readonly #byFirstOffset: readonly AbortedTransaction[];
  readonly #producerIds = new Set<number>();
  #begun = 0;

  /** @param aborted in any order: brokers list them in the order in which they ended, not began */
  constructor(aborted: readonly AbortedTransaction[]) {
    this.#byFirstOffset = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset);
  }

  /**
   * Begins all transactions that begin up to an offset. Several may begin at one batch: a fetch that starts
   * inside two aborted transactions meets both with its first batch.
   */
  beginUpTo(offset: number): void {
    for (
      let next = this.#byFirstOffset[this.#begun];
      next !== undefined && next.firstOffset <= offset;
      next = this.#byFirstOffset[this.#begun]
    ) {
      this.#producerIds.add(next.producerId);
      this.#begun += 1;
    }
  }

  has(producerId: number): boolean {
    return this.#producerIds.has(producerId);
  }

  end(producerId: number): void {
    this.#producerIds.delete(producerId);
  }
}
