import { isUtf8 } from 'node:buffer';
import type { CallType } from '../event/call.ts';
import { textOf } from '../event/check-call.ts';
import { maxBatchFieldsBytes } from '../event/merged-call.ts';
import { maxCallBytes, maxDepth } from '../event/limits.ts';
import { isDeeper, position, withoutByteOrderMark, type JsonObject } from '../event/read-json.ts';
import type { Rejection } from '../event/rejection.ts';
import { batchItems } from './batch-items.ts';
import type { Refusal } from './refusal.ts';

/** What a request brings: one call, whose type its path names, or a batch. */
export interface Submission {
  readonly calls: readonly unknown[];
  /** By their place among `calls`: those that are beyond a limit, as they were sent. */
  readonly beyondLimits: ReadonlyMap<number, BeyondLimits>;
  /** Of the path; undefined for a batch, whose calls say it themselves. */
  readonly type: CallType | undefined;
  readonly writeKey: string | undefined;
  /** Fields of the batch, for all its calls. */
  readonly context: JsonObject | undefined;
  readonly integrations: JsonObject | undefined;
  /** Of the batch, as sent; null counts as absent. */
  readonly sentAt: unknown;
}

export interface BeyondLimits {
  readonly rejection: Rejection;
  readonly bytes: Buffer;
}

export type ReadRequest =
  | { readonly submission: Submission; readonly refusal?: undefined }
  | { readonly submission?: undefined; readonly refusal: Refusal };

/** No client sends so many, and each takes more memory than its bytes. */
const maxBatchCalls = 5_000;
/** Many small calls times large batch fields must not become gigabytes. */
const maxMergedRequestBytes = 16 * 1024 * 1024;

/** The unpacked body of a request within the limits. `type` is undefined on the paths of batches. */
export function readRequest(body: Buffer, type: CallType | undefined): ReadRequest {
  const json = parse(body);
  if (json.refusal !== undefined) return json;
  return type === undefined ? readBatch(body, json.object) : readSingle(body, json.object, type);
}

function parse(
  body: Buffer,
):
  | { readonly object: JsonObject; readonly refusal?: undefined }
  | { readonly object?: undefined; readonly refusal: Refusal } {
  if (body.length === 0) return refuse('invalid-json', 'The body is empty.');
  if (!isUtf8(body)) return refuse('invalid-json', 'The body is not UTF-8.');
  let json: unknown;
  try {
    json = JSON.parse(withoutByteOrderMark(body.toString()));
  } catch (error) {
    return refuse('invalid-json', `The body is not JSON${position(error)}.`);
  }
  return isObject(json)
    ? { object: json }
    : refuse('not-an-object', 'The body is JSON, but not an object.');
}

function readSingle(body: Buffer, call: JsonObject, type: CallType): ReadRequest {
  const objection = objectionTo(call, body.length);
  if (objection !== undefined) return refuse(objection.reason, objection.detail);
  const writeKey = textOf(call['writeKey']);
  return {
    submission: {
      calls: [call],
      beyondLimits: new Map(),
      type,
      writeKey,
      context: undefined,
      integrations: undefined,
      sentAt: null,
    },
  };
}

function readBatch(body: Buffer, fields: JsonObject): ReadRequest {
  const { batch } = fields;
  if (!Array.isArray(batch)) {
    return refuse(
      'no-batch',
      'The body has no array `batch`; a single call has a path of its own.',
    );
  }
  const calls = batch as readonly unknown[];
  if (calls.length > maxBatchCalls) {
    const message = `The batch has ${calls.length} calls; it may have ${maxBatchCalls}.`;
    return refuse('too-many-calls', message);
  }
  const context = objectOf(fields['context']);
  const integrations = objectOf(fields['integrations']);
  const sentAt = fields['sentAt'] ?? null;
  const shared = [context, integrations, sentAt];
  // In a call, these stand one level below it.
  if (shared.some(isTooDeepBelow)) return refuse('too-deep', tooDeep);
  const sharedBytes = shared.reduce<number>((sum, field) => sum + lengthOf(field), 0);
  if (
    sharedBytes > maxBatchFieldsBytes ||
    sharedBytes * calls.length + body.length > maxMergedRequestBytes
  ) {
    return fieldsTooLarge(sharedBytes);
  }
  const beyondLimits = findBeyondLimits(body, calls);
  const writeKey = textOf(fields['writeKey']);
  return {
    submission: { calls, beyondLimits, type: undefined, writeKey, context, integrations, sentAt },
  };
}

/** Most batches are no larger than one call may be, and none of their calls is deep. */
function findBeyondLimits(
  body: Buffer,
  calls: readonly unknown[],
): ReadonlyMap<number, BeyondLimits> {
  const found = new Map<number, BeyondLimits>();
  if (body.length <= maxCallBytes && !calls.some(isTooDeep)) return found;
  batchItems(body).forEach((bytes, index) => {
    const rejection = objectionTo(calls[index], bytes.length);
    if (rejection !== undefined) found.set(index, { rejection, bytes });
  });
  return found;
}

function objectionTo(
  call: unknown,
  bytes: number,
): { readonly reason: 'too-large' | 'too-deep'; readonly detail: string } | undefined {
  if (bytes > maxCallBytes) {
    const detail = `A call has ${bytes} bytes; it may have ${maxCallBytes}.`;
    return { reason: 'too-large', detail };
  }
  return isTooDeep(call) ? { reason: 'too-deep', detail: tooDeep } : undefined;
}

function refuse(code: Refusal['code'], message: string): { readonly refusal: Refusal } {
  return { refusal: { code, message } };
}

function fieldsTooLarge(bytes: number): { readonly refusal: Refusal } {
  const fields = `The context, integrations and sentAt of the batch have ${bytes} bytes`;
  const limits = `${maxBatchFieldsBytes}, and ${maxMergedRequestBytes} in all its calls together`;
  return refuse('too-large', `${fields}; they may have ${limits}.`);
}

const tooDeep = `Objects and arrays of a call are nested deeper than ${maxDepth}.`;

function isTooDeep(item: unknown): boolean {
  return typeof item === 'object' && item !== null && isDeeper(item, maxDepth);
}

function isTooDeepBelow(field: unknown): boolean {
  return typeof field === 'object' && field !== null && isDeeper(field, maxDepth - 1);
}

function lengthOf(field: unknown): number {
  return field === undefined || field === null ? 0 : Buffer.byteLength(JSON.stringify(field));
}

/** What is no object has nothing that could be merged. */
function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
