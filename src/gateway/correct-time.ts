import { sentTimestamp } from '../event/check-call.ts';
import type { JsonObject } from '../event/read-json.ts';
import type { Rejection } from '../event/rejection.ts';
import { isoTime, isoTimeMs, normalizeTimestamp } from '../event/timestamp.ts';

/** The times in a request. */
export interface RequestTimes {
  readonly receivedMs: number;
  readonly receivedAt: string;
  /** The batch's `sentAt` as sent; null if it has none. */
  readonly sentAt: unknown;
  /** Undefined if it is not a time. */
  readonly sentMs: number | undefined;
}

export function timesOf(receivedMs: number, sentAt: unknown): RequestTimes {
  const receivedAt = isoTime(receivedMs);
  return { receivedMs, receivedAt, sentAt, sentMs: timeOf(sentAt) };
}

/**
 * The client's clock may be wrong, but it shows how long before sending a call was made: `timestamp =
 * receivedAt − (sentAt − timestamp)`, and the client's own value becomes `originalTimestamp`. The batch's
 * `sentAt` counts, and a call's own only if the batch has none. Without a valid `sentAt`, the timestamp
 * stays. A call without a timestamp gets the time of receipt. Changes the call in place; returns why it must
 * be rejected, if so.
 */
export function correctTime(call: JsonObject, times: RequestTimes): Rejection | undefined {
  const { receivedMs, receivedAt } = times;
  const timestamp = sentTimestamp(call);
  if (typeof timestamp === 'object') return timestamp;
  const sentMs = times.sentAt === null ? timeOf(call['sentAt']) : times.sentMs;
  if (timestamp === undefined) {
    call['timestamp'] = receivedAt;
    return undefined;
  }
  const corrected =
    sentMs === undefined
      ? timestamp
      : (iso(receivedMs - (sentMs - isoTimeMs(timestamp))) ?? timestamp);
  const isUnsaid = call['originalTimestamp'] === undefined || call['originalTimestamp'] === null;
  if (isUnsaid && call['timestamp'] !== corrected) call['originalTimestamp'] = call['timestamp'];
  call['timestamp'] = corrected;
  return undefined;
}

function timeOf(text: unknown): number | undefined {
  const normalized = typeof text === 'string' ? normalizeTimestamp(text) : undefined;
  return normalized === undefined ? undefined : isoTimeMs(normalized);
}

const [firstMs, lastMs] = [
  Date.parse('0000-01-01T00:00:00.000Z'),
  Date.parse('9999-12-31T23:59:59.999Z'),
];

/** Undefined if four digits cannot write the year. */
function iso(timeMs: number): string | undefined {
  return timeMs >= firstMs && timeMs <= lastMs ? isoTime(timeMs) : undefined;
}
