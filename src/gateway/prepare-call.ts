import { randomUUID } from 'node:crypto';
import { checkCall, textOf } from '../event/check-call.ts';
import { mergedHeader } from '../event/parse-call.ts';
import { isLongerThan, maxCallBytes } from '../event/limits.ts';
import { type JsonObject } from '../event/read-json.ts';
import { detailHeader, reasonHeader, writeKeyHeader } from '../event/headers.ts';
import type { Rejection } from '../event/rejection.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { batchItems } from './batch-items.ts';
import { correctTime, timesOf, type RequestTimes } from './correct-time.ts';
import { Oddities, type Oddity } from './odd-fields.ts';
import { isObject, type Submission } from './read-request.ts';
import { inFewRecords, type Rejected } from './rejected-together.ts';

export interface Receipt {
  /** Epoch milliseconds. */
  readonly receivedMs: number;
  /** The write key that the request was accepted with. */
  readonly writeKey: string;
  /** The client's address; computed only if a call needs it. */
  readonly clientIp: () => string | undefined;
}

export interface IngestTopics {
  readonly ingest: string;
  readonly ingestRejected: string;
}

/** Why a call is rejected, with its place in the batch; a single call has place 0. */
export interface RejectedCall extends Rejection {
  readonly index: number;
}

/** The results for a request's calls. */
export interface Prepared {
  readonly records: readonly OutgoingRecord[];
  /** One for each call that goes to `ingest.rejected`, in their order. */
  readonly rejections: readonly RejectedCall[];
  /** Suspicious fields of accepted and of rejected calls. */
  readonly oddities: readonly Oddity[];
}

/** The calls are changed in place. */
export function prepareCalls(
  submission: Submission,
  receipt: Receipt,
  topics: IngestTopics,
): Prepared {
  const times = timesOf(receipt.receivedMs, submission.sentAt);
  const headers = { [writeKeyHeader]: receipt.writeKey };
  const records: OutgoingRecord[] = [];
  const rejected: Rejected[] = [];
  const rejections: RejectedCall[] = [];
  const oddities = new Oddities();
  const sent = new AsSent(submission);
  submission.calls.forEach((call, index) => {
    const beyond = submission.beyondLimits.get(index);
    if (beyond === undefined && isObject(call)) oddities.check(call);
    const rejection = beyond?.rejection ?? readyCall(call, submission, receipt, times);
    if (rejection !== undefined) {
      rejections.push({ ...rejection, index });
      rejected.push({ key: userOf(call), value: beyond?.bytes ?? sent.call(index), rejection });
      return;
    }
    const value = JSON.stringify(call);
    const own = isLongerThan(value, maxCallBytes) ? { ...headers, [mergedHeader]: '' } : headers;
    records.push({ topic: topics.ingest, key: userOf(call), value, headers: own });
  });
  for (const { key, value, rejection } of inFewRecords(rejected)) {
    const { reason, detail } = rejection;
    const own = { ...headers, [reasonHeader]: reason, [detailHeader]: detail };
    records.push({ topic: topics.ingestRejected, key, value, headers: own });
  }
  return { records, rejections, oddities: oddities.found };
}

/**
 * The bytes of a request's calls, which are looked for when the first call is rejected. A single call gets the type that
 * its path has, if it does not say the same itself.
 */
class AsSent {
  readonly #submission: Submission;
  readonly #addedType: string;
  #items: readonly Buffer[] | undefined = undefined;

  /** Before the calls are changed. */
  constructor(submission: Submission) {
    this.#submission = submission;
    const { calls, type } = submission;
    const own = isObject(calls[0]) ? calls[0] : {};
    // The last of several fields of one name counts.
    const comma = Object.keys(own).length === 0 ? '' : ',';
    this.#addedType = own['type'] === type ? '' : `${comma}"type":"${type}"`;
  }

  call(index: number): Buffer {
    const { body, type } = this.#submission;
    if (type !== undefined) return this.#withType(body);
    this.#items ??= batchItems(body);
    return this.#items[index] ?? body;
  }

  #withType(body: Buffer): Buffer {
    if (this.#addedType === '') return body;
    const end = body.lastIndexOf('}');
    return Buffer.concat([body.subarray(0, end), Buffer.from(this.#addedType), body.subarray(end)]);
  }
}

/** Makes the call ready for Kafka, or returns why it is rejected. */
function readyCall(
  call: unknown,
  submission: Submission,
  receipt: Receipt,
  times: RequestTimes,
): Rejection | undefined {
  if (!isObject(call)) return notAnObject;
  complete(call, submission, receipt, times);
  return checkCall(call) ?? correctTime(call, times);
}

function userOf(call: unknown): string | null {
  if (!isObject(call)) return null;
  return textOf(call['userId']) ?? textOf(call['anonymousId']) ?? null;
}

const notAnObject: Rejection = {
  reason: 'not-an-object',
  detail: 'An item of the batch is not an object.',
};

/** Adds the request's information to the call. Undefined fields are left out when it is written. */
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
  // The record's header names the source, so nothing behind the gateway needs the key.
  if (call['writeKey'] !== undefined) call['writeKey'] = undefined;
}

/** The call's own keys win. Spread treats a key such as `__proto__` as data. */
function merge(ofBatch: JsonObject, own: unknown): unknown {
  if (isAbsent(own)) return ofBatch;
  return isObject(own) ? { ...ofBatch, ...own } : own;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
