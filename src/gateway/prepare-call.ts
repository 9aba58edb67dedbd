import { randomUUID } from 'node:crypto';
import { checkCall, textOf } from '../event/check-call.ts';
import { mergedHeader } from '../event/merged-call.ts';
import { maxCallBytes } from '../event/limits.ts';
import { type JsonObject } from '../event/read-json.ts';
import { detailHeader, reasonHeader } from '../event/rejected-headers.ts';
import type { Rejection } from '../event/rejection.ts';
import { writeKeyHeader } from '../event/write-key.ts';
import type { HeaderValue, OutgoingRecord } from '../kafka/record.ts';
import { correctTime, timesOf, type RequestTimes } from './correct-time.ts';
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
  const times = timesOf(receipt.receivedMs, submission.sentAt);
  const headers = { [writeKeyHeader]: receipt.writeKey };
  return submission.calls.map((call): Prepared => {
    if (!isObject(call)) {
      const value = JSON.stringify(call);
      return rejected({ key: null, value }, headers, notAnObject, topics.ingestRejected);
    }
    complete(call, submission, receipt, times);
    const rejection = checkCall(call) ?? correctTime(call, times);
    const value = JSON.stringify(call);
    const key = textOf(call['userId']) ?? textOf(call['anonymousId']) ?? null;
    if (rejection !== undefined) {
      return rejected({ key, value }, headers, rejection, topics.ingestRejected);
    }
    const isLarge = value.length * 3 > maxCallBytes && Buffer.byteLength(value) > maxCallBytes;
    const own = isLarge ? { ...headers, [mergedHeader]: '' } : headers;
    const record = { topic: topics.ingest, key, value, headers: own };
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
  { receivedAt, sentAt }: RequestTimes,
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
  if (sentAt !== null) call['sentAt'] = sentAt;
  // The source is named by the record's header; the key is nobody's business further on.
  call['writeKey'] = undefined;
}

/** The call's own keys win. Spread keeps a key such as `__proto__` what it is: data. */
function merge(ofBatch: JsonObject, own: unknown): unknown {
  if (isAbsent(own)) return ofBatch;
  return isObject(own) ? { ...ofBatch, ...own } : own;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
