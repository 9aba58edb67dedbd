import { randomUUID } from 'node:crypto';
import { checkCall, sentTimestamp, textOf } from '../event/check-call.ts';
import { mergedHeader } from '../event/merged-call.ts';
import { maxCallBytes, type JsonObject } from '../event/read-json.ts';
import { detailHeader, reasonHeader } from '../event/rejected-headers.ts';
import type { Rejection } from '../event/rejection.ts';
import { normalizeTimestamp } from '../event/timestamp.ts';
import { writeKeyHeader } from '../event/write-key.ts';
import type { HeaderValue, OutgoingRecord } from '../kafka/record.ts';
import { isObject, type Submission } from './read-request.ts';

export interface Receipt {
  /** Epoch milliseconds. */
  readonly receivedMs: number;
  /** That the request was accepted with. */
  readonly writeKey: string;
  /** Of the client; asked for only where a call wants it. */
  readonly clientIp: () => string | undefined;
}

export interface IngestTopics {
  readonly ingest: string;
  readonly ingestRejected: string;
}

export interface Prepared {
  readonly record: OutgoingRecord;
  readonly rejection: Rejection | undefined;
}

/** A record for every call of a request, and why some go to `ingest.rejected`. The calls are changed in place. */
export function prepareCalls(
  submission: Submission,
  receipt: Receipt,
  topics: IngestTopics,
): Prepared[] {
  const receivedAt = new Date(receipt.receivedMs).toISOString();
  const headers = { [writeKeyHeader]: receipt.writeKey };
  return submission.calls.map((call): Prepared => {
    if (!isObject(call)) {
      const value = JSON.stringify(call);
      return rejected({ key: null, value }, headers, notAnObject, topics.ingestRejected);
    }
    complete(call, submission, receipt, receivedAt);
    const rejection = checkCall(call) ?? correctTime(call, submission.sentAt, receipt, receivedAt);
    const value = JSON.stringify(call);
    const key = textOf(call['userId']) ?? textOf(call['anonymousId']) ?? null;
    if (rejection !== undefined) {
      return rejected({ key, value }, headers, rejection, topics.ingestRejected);
    }
    const isLarge = value.length * 3 > maxCallBytes && Buffer.byteLength(value) > maxCallBytes;
    const record = {
      ...{ topic: topics.ingest, key, value },
      headers: isLarge ? { ...headers, [mergedHeader]: '' } : headers,
    };
    return { record, rejection: undefined };
  });
}

const notAnObject: Rejection = {
  reason: 'not-an-object',
  detail: 'An item of the batch is not an object.',
};

function rejected(
  content: Pick<OutgoingRecord, 'key' | 'value'>,
  headers: Readonly<Record<string, HeaderValue>>,
  rejection: Rejection,
  topic: string,
): Prepared {
  const { reason, detail } = rejection;
  const all = { ...headers, [reasonHeader]: reason, [detailHeader]: detail };
  return { record: { ...content, topic, headers: all }, rejection };
}

/** Gives the call what its request says about it. Undefined fields are left out when it is written. */
function complete(
  call: JsonObject,
  submission: Submission,
  { clientIp }: Receipt,
  receivedAt: string,
): void {
  const { type, context, integrations } = submission;
  if (type !== undefined) call['type'] = type;
  if (context !== undefined) call['context'] = merge(context, call['context']);
  if (integrations !== undefined) call['integrations'] = merge(integrations, call['integrations']);
  const own = call['context'];
  if (isObject(own) && own['direct'] === true && isAbsent(own['ip'])) {
    call['context'] = { ...own, ip: clientIp() };
  }
  if (isAbsent(call['messageId']) || call['messageId'] === '') call['messageId'] = randomUUID();
  call['receivedAt'] = receivedAt;
  // The source is named by the record's header; the key is nobody's business further on.
  call['writeKey'] = undefined;
}

/** The call's own keys win. Spread keeps a key such as `__proto__` what it is: data. */
function merge(ofBatch: JsonObject, own: unknown): unknown {
  if (isAbsent(own)) return ofBatch;
  return isObject(own) ? { ...ofBatch, ...own } : own;
}

/**
 * The client's clock may be wrong, but it knows how long before sending something happened:
 * `timestamp = receivedAt − (sentAt − timestamp)`, and what the client said is `originalTimestamp`.
 * Without `sentAt`, or where it is no time, the timestamp stays. It is the time of receipt where the
 * call has none.
 */
function correctTime(
  call: JsonObject,
  sentAtOfBatch: unknown,
  { receivedMs }: Receipt,
  receivedAt: string,
): Rejection | undefined {
  const timestamp = sentTimestamp(call);
  if (typeof timestamp === 'object') return timestamp;
  const sentAt = sentAtOfBatch ?? call['sentAt'] ?? undefined;
  if (sentAt !== undefined) call['sentAt'] = sentAt;
  if (timestamp === undefined) {
    call['timestamp'] = receivedAt;
    return undefined;
  }
  const sent = typeof sentAt === 'string' ? normalizeTimestamp(sentAt) : undefined;
  const corrected =
    sent === undefined
      ? timestamp
      : (iso(receivedMs - (Date.parse(sent) - Date.parse(timestamp))) ?? timestamp);
  if (isAbsent(call['originalTimestamp']) && call['timestamp'] !== corrected) {
    call['originalTimestamp'] = call['timestamp'];
  }
  call['timestamp'] = corrected;
  return undefined;
}

const [firstMs, lastMs] = [
  Date.parse('0000-01-01T00:00:00.000Z'),
  Date.parse('9999-12-31T23:59:59.999Z'),
];

/** Undefined where four digits cannot write the year. */
function iso(timeMs: number): string | undefined {
  return timeMs >= firstMs && timeMs <= lastMs ? new Date(timeMs).toISOString() : undefined;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
