import { sentTimestamp } from '../event/check-call.ts';
import type { JsonObject } from '../event/read-json.ts';
import type { Rejection } from '../event/rejection.ts';
import { normalizeTimestamp } from '../event/timestamp.ts';

/** What a request says of time. */
export interface RequestTimes {
  readonly receivedMs: number;
  readonly receivedAt: string;
  /** Of the batch, as sent; null where it has none. */
  readonly sentAt: unknown;
  /** Undefined where it is no time. */
  readonly sentMs: number | undefined;
}

export function timesOf(receivedMs: number, sentAt: unknown): RequestTimes {
  const receivedAt = new Date(receivedMs).toISOString();
  return { receivedMs, receivedAt, sentAt, sentMs: timeOf(sentAt) };
}

/**
 * The client's clock may be wrong, but it knows how long before sending something happened:
 * `timestamp = receivedAt − (sentAt − timestamp)`, and what the client said is `originalTimestamp`.
 * The batch's `sentAt` decides, a call's own only where the batch has none; without one, or where it is
 * no time, the timestamp stays. It is the time of receipt where the call has none. Changes the call in
 * place; returns why it must be rejected, if so.
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
      : (iso(receivedMs - (sentMs - Date.parse(timestamp))) ?? timestamp);
  const isUnsaid = call['originalTimestamp'] === undefined || call['originalTimestamp'] === null;
  if (isUnsaid && call['timestamp'] !== corrected) call['originalTimestamp'] = call['timestamp'];
  call['timestamp'] = corrected;
  return undefined;
}

function timeOf(text: unknown): number | undefined {
  const normalized = typeof text === 'string' ? normalizeTimestamp(text) : undefined;
  return normalized === undefined ? undefined : Date.parse(normalized);
}

const [firstMs, lastMs] = [
  Date.parse('0000-01-01T00:00:00.000Z'),
  Date.parse('9999-12-31T23:59:59.999Z'),
];

/** Undefined where four digits cannot write the year. */
function iso(timeMs: number): string | undefined {
  return timeMs >= firstMs && timeMs <= lastMs ? new Date(timeMs).toISOString() : undefined;
}
