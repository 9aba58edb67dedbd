import type { Call, CallType } from './call.ts';
import { callTypes } from './call.ts';
import { type JsonObject, readJson } from './read-json.ts';
import type { Rejection } from './rejection.ts';
import { normalizeTimestamp } from './timestamp.ts';

/** Where a record stands: the ids and times that its call lacks are made from it. */
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
 * One record's value as a call, or why it is none. Never throws, and depends on nothing but its
 * arguments: the same record gives the same call, ids and times included.
 *
 * In a call's own fields null counts as absent, and so does an empty string where an id, an event
 * name or a time is expected. An id that is a safe integer becomes a string. A missing `messageId`
 * is `<topic>:<partition>:<offset>`. `originalTimestamp` stands in for a missing `timestamp`, the
 * append time for both. A `writeKey` that is not a string names no source.
 */
export function parseCall(value: Buffer | null, origin: Origin): ParsedCall {
  const json = readJson(value);
  if (json.rejected !== undefined) return json;
  const fields = json.object;
  const { type } = fields;
  if (!isCallType(type)) return { rejected: typeRejection(fields) };
  const rejected = normalizeIds(type, fields) ?? missing(type, fields);
  if (rejected !== undefined) return { rejected };
  const timestamp = timestampOf(fields, origin);
  if (typeof timestamp !== 'string') return { rejected: timestamp };
  return {
    call: {
      type,
      messageId:
        textOf(fields['messageId']) ?? `${origin.topic}:${origin.partition}:${origin.offset}`,
      userId: textOf(fields['userId']),
      anonymousId: textOf(fields['anonymousId']),
      timestamp,
      writeKey: textOf(fields['writeKey']),
      fields,
    },
  };
}

const knownTypes: ReadonlySet<unknown> = new Set(callTypes);

function isCallType(type: unknown): type is CallType {
  return knownTypes.has(type);
}

function typeRejection(fields: JsonObject): Rejection {
  const { type } = fields;
  if (Array.isArray(fields['batch']) && isAbsent(type)) {
    return { reason: 'batch', detail: 'The value is a batch; write one call per record.' };
  }
  const detail = isAbsent(type)
    ? 'The call has no type.'
    : type === 'delete'
      ? 'Producers may not send delete notifications.'
      : `The type ${excerpt(type)} is none of ${callTypes.join(', ')}.`;
  return { reason: 'invalid-type', detail };
}

/** The ids that every call may have, and those of one type: elsewhere the field means nothing to us. */
const commonIds = ['userId', 'anonymousId', 'messageId'];
const idsOf: Readonly<Record<CallType, readonly string[]>> = {
  track: commonIds,
  page: commonIds,
  screen: commonIds,
  identify: commonIds,
  group: [...commonIds, 'groupId'],
  alias: [...commonIds, 'previousId'],
};

function normalizeIds(type: CallType, fields: JsonObject): Rejection | undefined {
  for (const name of idsOf[type]) {
    const id = fields[name];
    if (typeof id === 'string' || id === undefined || id === null) continue;
    if (!Number.isSafeInteger(id)) {
      const detail = `${name} is ${kindOf(id)}, not a string or a safe integer.`;
      return { reason: 'invalid-id', detail };
    }
    fields[name] = (id as number).toString();
  }
  return undefined;
}

function missing(type: CallType, fields: JsonObject): Rejection | undefined {
  if (type === 'track' && textOf(fields['event']) === undefined) {
    return { reason: 'no-event', detail: `A track call needs an event name; ${found('event')}.` };
  }
  if (type === 'group' && textOf(fields['groupId']) === undefined) {
    return { reason: 'no-group-id', detail: `A group call needs a groupId; ${found('groupId')}.` };
  }
  if (textOf(fields['userId']) === undefined) {
    if (type === 'alias') {
      return { reason: 'no-user', detail: `An alias call needs a userId; ${found('userId')}.` };
    }
    if (textOf(fields['anonymousId']) === undefined) {
      return { reason: 'no-user', detail: 'The call has neither a userId nor an anonymousId.' };
    }
  }
  if (type === 'alias' && textOf(fields['previousId']) === undefined) {
    const detail = `An alias call needs a previousId; ${found('previousId')}.`;
    return { reason: 'no-previous-id', detail };
  }
  return undefined;

  function found(name: string): string {
    return isAbsent(fields[name]) ? 'it has none' : `it is ${kindOf(fields[name])}`;
  }
}

function timestampOf(fields: JsonObject, origin: Origin): string | Rejection {
  const name = isBlank(fields['timestamp']) ? 'originalTimestamp' : 'timestamp';
  const sent = fields[name];
  if (isBlank(sent)) return new Date(origin.appendTimeMs).toISOString();
  if (typeof sent !== 'string') {
    return { reason: 'invalid-timestamp', detail: `${name} is ${kindOf(sent)}, not a string.` };
  }
  const detail = `${name} ${excerpt(sent)} is no ISO 8601 time in the years 0 to 9999.`;
  return normalizeTimestamp(sent) ?? { reason: 'invalid-timestamp', detail };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isBlank(value: unknown): boolean {
  return isAbsent(value) || value === '';
}

function kindOf(value: unknown): string {
  if (value === '') return 'empty';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'number' ? `the number ${value}` : `a ${typeof value}`;
}

/** Enough to recognise a value by; escaped, so that it fits a header and a line of a table. */
function excerpt(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : kindOf(value);
}
