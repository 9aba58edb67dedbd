import { isUtf8 } from 'node:buffer';
import type { CallType } from '../event/call.ts';
import { maxBatchFieldsBytes } from '../event/parse-call.ts';
import { maxBatchCalls, maxDepth } from '../event/limits.ts';
import { isDeeper, position, withoutByteOrderMark, type JsonObject } from '../event/read-json.ts';
import { findBeyondLimits, objectionTo, tooDeep, type BeyondLimits } from './beyond-limits.ts';
import type { Refusal } from './refusal.ts';

/** The content of a request: one call, whose type is in the path, or a batch. */
export interface Submission {
  /** The whole body, unpacked. */
  readonly body: Buffer;
  readonly calls: readonly unknown[];
  /** Calls beyond a limit, as they were sent, by their index in `calls`. */
  readonly beyondLimits: ReadonlyMap<number, BeyondLimits>;
  /** The type in the path; undefined for a batch, whose calls have their own types. */
  readonly type: CallType | undefined;
  /** The bytes of the request with the batch's fields in each of its calls. */
  readonly bytes: number;
  /** Fields of the batch that apply to all its calls. */
  readonly context: JsonObject | undefined;
  readonly integrations: JsonObject | undefined;
  /** The batch's `sentAt` as sent; null counts as absent. */
  readonly sentAt: unknown;
}

export type ReadRequest =
  | { readonly submission: Submission; readonly refusal?: undefined }
  | { readonly submission?: undefined; readonly refusal: Refusal };

/** Bounds many small calls times large batch fields. */
const maxMergedRequestBytes = 16 * 1024 * 1024;

/** Parses the unpacked body of a request within the limits. `type` is undefined on the paths of batches. */
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

const none: ReadonlyMap<number, BeyondLimits> = new Map();

function readSingle(body: Buffer, call: JsonObject, type: CallType): ReadRequest {
  const objection = objectionTo(call, body.length);
  if (objection !== undefined) return refuse(objection.reason, objection.detail);
  return {
    submission: {
      body,
      calls: [call],
      beyondLimits: none,
      type,
      bytes: body.length,
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
      'The body has no array `batch`; send a single call to its own path, such as /v1/track.',
    );
  }
  const calls = batch as readonly unknown[];
  if (calls.length > maxBatchCalls) {
    const message = `The batch has ${calls.length} calls; the limit is ${maxBatchCalls}.`;
    return refuse('too-many-calls', message);
  }
  const context = objectOf(fields['context']);
  const integrations = objectOf(fields['integrations']);
  const sentAt = fields['sentAt'] ?? null;
  const shared = [context, integrations, sentAt];
  // Merged into a call, these fields are one level deeper.
  if (shared.some(isTooDeepBelow)) return refuse('too-deep', tooDeep);
  const sharedBytes = shared.reduce<number>((sum, field) => sum + lengthOf(field), 0);
  const bytes = sharedBytes * calls.length + body.length;
  if (sharedBytes > maxBatchFieldsBytes || bytes > maxMergedRequestBytes)
    return fieldsTooLarge(sharedBytes);
  const beyondLimits = findBeyondLimits(body, calls);
  return {
    submission: {
      body,
      calls,
      beyondLimits,
      type: undefined,
      bytes,
      context,
      integrations,
      sentAt,
    },
  };
}

function refuse(code: Refusal['code'], message: string): { readonly refusal: Refusal } {
  return { refusal: { code, message } };
}

function fieldsTooLarge(bytes: number): { readonly refusal: Refusal } {
  const fields = `The context, integrations and sentAt of the batch have ${bytes} bytes`;
  const limits = `${maxBatchFieldsBytes}, and ${maxMergedRequestBytes} in all its calls together`;
  return refuse('too-large', `${fields}; the limit is ${limits}.`);
}

function isTooDeepBelow(field: unknown): boolean {
  return typeof field === 'object' && field !== null && isDeeper(field, maxDepth - 1);
}

function lengthOf(field: unknown): number {
  return field === undefined || field === null ? 0 : Buffer.byteLength(JSON.stringify(field));
}

/** Values that are not objects have nothing to merge. */
function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
