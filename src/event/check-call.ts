import { callTypes, type CallType } from './call.ts';
import { isIdTooLong, maxIdBytes } from './limits.ts';
import type { JsonObject } from './read-json.ts';
import type { Rejection } from './rejection.ts';
import { normalizeTimestamp } from './timestamp.ts';

/** The rules for a valid call, for the router's records and the gateway's requests. */

/**
 * Why the object is not a call; undefined if it is one, apart from its times. An id that is a safe integer
 * becomes a string, in place.
 */
export function checkCall(fields: JsonObject): Rejection | undefined {
  const { type } = fields;
  if (!isCallType(type)) return typeRejection(fields);
  return checkIds(type, fields) ?? missing(type, fields);
}

/**
 * The time at which the call happened, normalized: its `timestamp`, otherwise its `originalTimestamp`, otherwise
 * undefined. An invalid time is a reason to reject the call.
 */
export function sentTimestamp(fields: JsonObject): string | Rejection | undefined {
  const name = isBlank(fields['timestamp']) ? 'originalTimestamp' : 'timestamp';
  const sent = fields[name];
  if (isBlank(sent)) return undefined;
  if (typeof sent !== 'string') {
    return { reason: 'invalid-timestamp', detail: `${name} is ${kindOf(sent)}, not a string.` };
  }
  const normalized = normalizeTimestamp(sent);
  if (normalized !== undefined) return normalized;
  const detail = `${name} ${excerpt(sent)} is not an ISO 8601 time in the years 0 to 9999.`;
  return { reason: 'invalid-timestamp', detail };
}

/** Null and empty strings count as absent where an id, an event name or a time is expected. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
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
      ? 'A call cannot have the type delete; use `postrider delete-user` instead.'
      : `The type ${excerpt(type)} is unknown; allowed: ${callTypes.join(', ')}.`;
  return { reason: 'invalid-type', detail };
}

/** The ids that every call may have, and those of one type, which are ignored in other types. */
const commonIds = ['userId', 'anonymousId', 'messageId'];
const idsOf: Readonly<Record<CallType, readonly string[]>> = {
  track: commonIds,
  page: commonIds,
  screen: commonIds,
  identify: commonIds,
  group: [...commonIds, 'groupId'],
  alias: [...commonIds, 'previousId'],
};

function checkIds(type: CallType, fields: JsonObject): Rejection | undefined {
  for (const name of idsOf[type]) {
    const id = fields[name];
    if (typeof id === 'string' && isIdTooLong(id)) {
      const detail = `${name} has ${Buffer.byteLength(id)} bytes; the limit is ${maxIdBytes}.`;
      return { reason: 'invalid-id', detail };
    }
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

/** Long enough to recognize a value; escaped, so that it fits a header and a line of a table. */
function excerpt(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : kindOf(value);
}
