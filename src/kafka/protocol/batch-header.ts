import { readInt64 } from './fields.ts';
import { compareChecksums, crc32c } from './crc32c.ts';

/** The places of fields, from the first byte of a record batch; up to `magicAt` in all versions. */
export const lengthAt = 8;
export const lengthEnd = 12;
export const epochAt = 12;
export const magicAt = 16;
const checksumAt = 17;
export const attributesAt = 21;
export const lastOffsetDeltaAt = 23;
const firstTimestampAt = 27;
const maxTimestampAt = 35;
const producerIdAt = 43;
const recordCountAt = 57;
const recordsAt = 61;

const logAppendTime = 0x8;
const transactional = 0x10;
const control = 0x20;

/** The header of a record batch. */
export interface BatchHeader {
  readonly firstOffset: number;
  /** Also correct where compaction has removed the last records. */
  readonly lastOffset: number;
  /** Epoch of the leader that appended the batch. */
  readonly epoch: number;
  /** Includes how the records are compressed. */
  readonly attributes: number;
  readonly isTransactional: boolean;
  /** The batch holds no records but a marker, such as the end of a transaction. */
  readonly isControl: boolean;
  readonly firstTimestampMs: number;
  /**
   * The time at which the broker appended the batch, which counts for all records; undefined: each has its producer's
   * time.
   */
  readonly appendedMs: number | undefined;
  readonly producerId: number;
  readonly recordCount: number;
  /** The records as they are stored. */
  readonly records: Buffer;
}

/**
 * @param batch the whole batch
 * @throws RangeError when the checksum is wrong, or fields contradict one another @see
 * https://kafka.apache.org/documentation/#recordbatch
 */
export function readBatchHeader(batch: Buffer): BatchHeader {
  if (batch.length < recordsAt)
    throw new RangeError(
      `it has ${batch.length} bytes, and the fields before its records ${recordsAt}`,
    );
  compareChecksums(batch.readUInt32BE(checksumAt), crc32c(batch.subarray(attributesAt)));
  const attributes = batch.readInt16BE(attributesAt);
  const firstOffset = readInt64(batch, 0);
  const lastOffset = firstOffset + batch.readInt32BE(lastOffsetDeltaAt);
  const recordCount = batch.readInt32BE(recordCountAt);
  if (recordCount < 0 || recordCount > lastOffset - firstOffset + 1)
    throw new RangeError(`it states ${recordCount} records, and ${lastOffset} as its last offset`);
  return {
    firstOffset,
    lastOffset,
    epoch: batch.readInt32BE(epochAt),
    attributes,
    isTransactional: (attributes & transactional) !== 0,
    isControl: (attributes & control) !== 0,
    firstTimestampMs: readInt64(batch, firstTimestampAt),
    appendedMs: (attributes & logAppendTime) === 0 ? undefined : readInt64(batch, maxTimestampAt),
    producerId: readInt64(batch, producerIdAt),
    recordCount,
    records: batch.subarray(recordsAt),
  };
}
