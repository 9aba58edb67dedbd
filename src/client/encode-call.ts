import { randomUUID } from 'node:crypto';
import type { CallType } from '../event/call.ts';
import { isIdTooLong, maxCallBytes, maxDepth, maxIdBytes } from '../event/limits.ts';
import { isDeeper } from '../event/read-json.ts';
import { normalizeTimestamp } from '../event/timestamp.ts';
import type { AcceptedCall } from './calls.ts';
import { AnalyticsError } from './errors.ts';

const ids = ['messageId', 'userId', 'anonymousId', 'groupId', 'previousId'] as const;

/** A call in the queue. Its JSON is a snapshot of the call, and determines its size. */
export interface EncodedCall extends AcceptedCall {
  /** Length of `json` in UTF-8. */
  readonly bytes: number;
  /** Whom the call is about. */
  readonly user: string;
}

interface EncodeOptions extends ValidationRules {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** Added to each call's context, for a transport without batches. */
  readonly context: object | undefined;
}

/**
 * @throws AnalyticsError `invalid-call`, `unserializable`, `too-large`
 */
export function encodeCall(type: CallType, given: unknown, options: EncodeOptions): EncodedCall {
  if (typeof given !== 'object' || given === null) {
    throw new AnalyticsError('invalid-call', `You must pass an object to '${type}'.`);
  }
  const fields = attempt(() => readFields(type, given as GivenCall));
  validateCall(type, fields, options);

  for (const name of ids) {
    const id = (fields as GivenCall)[name];
    if (typeof id === 'string' && isIdTooLong(id))
      throw tooLarge(`'${name}' has ${Buffer.byteLength(id)} bytes; it may have ${maxIdBytes}.`);
  }
  const messageId = isAbsent(fields.messageId) ? randomUUID() : (fields.messageId as string);
  fields.messageId = messageId;
  if (isAbsent(fields.timestamp)) fields.timestamp = isoOf(options.nowMs);
  const json = attempt(() => {
    if (options.context !== undefined)
      fields.context = mergeContext(options.context, fields.context);
    return JSON.stringify(fields);
  });
  const bytes = Buffer.byteLength(json);
  if (bytes > maxCallBytes) {
    throw tooLarge(`The call has ${bytes} bytes as JSON; it may have ${maxCallBytes}.`);
  }
  if (isTooDeep(json)) {
    throw tooLarge(`Objects and arrays are nested deeper than ${maxDepth}.`);
  }
  const user = (isAbsent(fields.userId) ? fields.anonymousId : fields.userId) as string;
  return { messageId, type, json, bytes, user };
}

/** Our own copy, one level deep. */
interface Fields extends GivenCall {
  messageId: unknown;
  timestamp: unknown;
  readonly userId?: unknown;
  readonly anonymousId?: unknown;
  context: unknown;
}

let isoMs = NaN;
let isoText = '';

/** Cached, because calls come in bursts, and formatting the time is a large part of a call's cost. */
function isoOf(ms: number): string {
  if (ms !== isoMs) {
    isoMs = ms;
    isoText = new Date(ms).toISOString();
  }
  return isoText;
}

/** The fields that a call of this type is sent with, in this order. Each is read only once. */
function readFields(type: CallType, call: GivenCall): Fields {
  const { messageId, timestamp, userId, anonymousId, context, integrations } = call as Fields;
  const head = { type, messageId, timestamp, userId, anonymousId };
  switch (type) {
    case 'track': {
      const { event, properties } = call;
      return { ...head, event, properties, context, integrations };
    }
    case 'page': {
      const { name, category, traits, properties } = call;
      return { ...head, name, category, properties: traits ?? properties, context, integrations };
    }
    case 'screen': {
      const { name, category, properties } = call;
      return { ...head, name, category, properties, context, integrations };
    }
    case 'identify': {
      const { traits } = call;
      return { ...head, traits, context, integrations };
    }
    case 'group': {
      const { groupId, traits } = call;
      return { ...head, groupId, traits, context, integrations };
    }
    case 'alias': {
      const { previousId } = call;
      return { type, messageId, timestamp, userId, previousId, context, integrations };
    }
  }
}

/** The call's own fields take precedence. A value that is not an object stays as it is. */
function mergeContext(ofLibrary: object, ofCall: unknown): unknown {
  if (isAbsent(ofCall)) return ofLibrary;
  return typeof ofCall === 'object' ? { ...ofLibrary, ...ofCall } : ofCall;
}

/** Runs code that may call the caller's own getters and `toJSON`. */
function attempt<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AnalyticsError('unserializable', `The call cannot be written as JSON: ${reason}`, {
      cause,
    });
  }
}

/** Checks the text, because it may differ from the given object. Few calls have to be parsed for that. */
function isTooDeep(json: string): boolean {
  return hasMoreBrackets(json, maxDepth) && isDeeper(JSON.parse(json) as object, maxDepth);
}

function hasMoreBrackets(json: string, most: number): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > most) return true;
    }
  }
  return false;
}

function tooLarge(message: string): AnalyticsError {
  return new AnalyticsError('too-large', message);
}

/** A call as the caller gave it. TypeScript's types do not hold for callers in JavaScript. */
type GivenCall = Readonly<Record<string, unknown>>;

interface ValidationRules {
  /** Page calls may lack a `userId`. */
  readonly anonymousPages: boolean;
}

/**
 * The order of the checks and their texts are those of the Go library, version 2.1.1: first the fields of the
 * type, then the user. `page` needs a `userId`, as that library's documentation says.
 * @throws AnalyticsError `invalid-call`
 */
function validateCall(type: CallType, call: GivenCall, rules: ValidationRules): void {
  switch (type) {
    case 'track':
      needText(call, 'event', "You must pass 'event'.");
      needIdentity(call);
      break;
    case 'group':
      needText(call, 'groupId', "You must pass a 'groupId'.");
      needIdentity(call);
      break;
    case 'alias':
      needText(call, 'userId', "You must pass a 'userId'.");
      needText(call, 'previousId', "You must pass a 'previousId'.");
      break;
    case 'page':
      if (!rules.anonymousPages) needText(call, 'userId', "You must pass a 'userId'.");
      needIdentity(call);
      break;
    case 'identify':
    case 'screen':
      needIdentity(call);
      break;
  }
  allowText(call, 'messageId');
  checkTimestamp(call['timestamp']);
}

/** Null and an empty string count as absent, as in the pipeline. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function needIdentity(call: GivenCall): void {
  if (isAbsent(call['anonymousId']) && isAbsent(call['userId'])) {
    throw invalid("You must pass either an 'anonymousId' or 'userId'.");
  }
  allowText(call, 'userId');
  allowText(call, 'anonymousId');
}

function needText(call: GivenCall, name: string, missing: string): void {
  if (isAbsent(call[name])) throw invalid(missing);
  allowText(call, name);
}

function allowText(call: GivenCall, name: string): void {
  const value = call[name];
  if (typeof value !== 'string' && !isAbsent(value)) throw invalid(`'${name}' must be a string.`);
}

function checkTimestamp(timestamp: unknown): void {
  if (isAbsent(timestamp)) return;
  const text = timestamp instanceof Date ? isoOfDate(timestamp) : timestamp;
  if (typeof text !== 'string' || normalizeTimestamp(text) === undefined) {
    throw invalid("'timestamp' must be a Date or an ISO 8601 time in the years 0 to 9999.");
  }
}

/** Undefined for an invalid date, for which toISOString throws. */
function isoOfDate(date: Date): string | undefined {
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function invalid(message: string): AnalyticsError {
  return new AnalyticsError('invalid-call', message);
}
