import { maxCallBytes } from './limits.ts';

/**
 * The header of a call that was within the limit as its client sent it, and exceeds it after the gateway
 * merged the batch's fields into it and added its own.
 */
export const mergedHeader = 'merged';

/** Bound on the fields that a batch has for all its calls. */
export const maxBatchFieldsBytes: number = maxCallBytes;

/**
 * The greatest length of `messageId`, `timestamp`, `originalTimestamp`, `receivedAt`, `context.ip` and the
 * type.
 */
const addedBytes = 1024;
/** JSON.stringify may write a number longer than it came: `1e20` with 21 digits. */
const longestSpelling = 6;

const maxMergedBytes = (maxCallBytes + maxBatchFieldsBytes) * longestSpelling + addedBytes;

/**
 * The largest value that a record with these headers may have. Any Kafka producer can write the header, and
 * gains no more from it than a client of the gateway gains from a batch.
 */
export function maxBytesOf(headers: Readonly<Record<string, unknown>>): number {
  return headers[mergedHeader] === undefined ? maxCallBytes : maxMergedBytes;
}
