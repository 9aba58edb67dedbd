import type { Call, CallType } from './call.ts';
import { checkCall, sentTimestamp, textOf } from './check-call.ts';
import { maxCallBytes } from './limits.ts';
import { readJson, type JsonObject } from './read-json.ts';
import type { Rejection } from './rejection.ts';

/** The place of a record. Missing ids and times of its call are derived from it. */
export interface Origin {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Epoch milliseconds. */
  readonly appendTimeMs: number;
}

export type ParsedCall =
  | { readonly call: Call; readonly rejected?: undefined }
  | { readonly call?: undefined; readonly rejected: Rejection };

/**
 * Parses one record's value as a call, or returns why it is not one. Never throws, and depends only on its
 * arguments: the same record gives the same call, including ids and times.
 *
 * In a call's own fields, null counts as absent, and so does an empty string where an id, an event name or a
 * time is expected. An id that is a safe integer becomes a string. A missing `messageId` is
 * `<topic>:<partition>:<offset>`. `originalTimestamp` replaces a missing `timestamp`, and the append time
 * replaces both. A `writeKey` that is not a string names no source.
 */
export function parseCall(
  value: Buffer | null,
  origin: Origin,
  maxBytes: number = maxCallBytes,
): ParsedCall {
  const json = readJson(value, maxBytes);
  if (json.rejected !== undefined) return json;
  return callOf(json.object, origin);
}

/**
 * The same for an object that was parsed already. The call takes the object over: an id that is a safe
 * integer becomes a string in place.
 */
export function callOf(fields: JsonObject, origin: Origin): ParsedCall {
  const rejected = checkCall(fields);
  if (rejected !== undefined) return { rejected };
  const timestamp = sentTimestamp(fields) ?? new Date(origin.appendTimeMs).toISOString();
  if (typeof timestamp !== 'string') return { rejected: timestamp };
  return {
    call: {
      type: fields['type'] as CallType,
      messageId: textOf(fields['messageId']) ?? derivedMessageId(origin),
      userId: textOf(fields['userId']),
      anonymousId: textOf(fields['anonymousId']),
      timestamp,
      writeKey: textOf(fields['writeKey']),
      fields,
    },
  };
}

/** The id of a call that has none: it is the same wherever the record is read. */
export function derivedMessageId({
  topic,
  partition,
  offset,
}: Pick<Origin, 'topic' | 'partition' | 'offset'>): string {
  return `${topic}:${partition}:${offset}`;
}

/**
 * The gateway sets this header on a call that was within the limit as its client sent it, and exceeds it after the
 * gateway merged the batch's fields into it and added its own.
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
