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
