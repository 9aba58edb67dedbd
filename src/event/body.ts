import type { Call, CallType } from './call.ts';
import { textOf } from './check-call.ts';

export type Payload = 'standard' | 'full';

/**
 * The body to POST, made with one `JSON.stringify` of parsed JSON. So it is a fixed point of
 * `JSON.parse` and `JSON.stringify`, and a receiver that signs what it stringifies again gets our
 * signature. Keys come in the contract's order; a null field counts as absent.
 *
 * `full` is the call as sent, without `writeKey`; `messageId` and `timestamp` are the call's
 * resolved ones, at the end where the call had none.
 */
export function buildBody(call: Call, payload: Payload): string {
  return JSON.stringify(payloadOf(call, payload));
}

/** The body before it is written: it has a key with an undefined value where nothing is written. */
export function payloadOf(call: Call, payload: Payload): Readonly<Record<string, unknown>> {
  return payload === 'full' ? fullShape(call) : standardShape(call);
}

/**
 * The body of the notification that a user was deleted, whatever the destination's `payload` is.
 * @param timestamp of the request to delete: ISO 8601, UTC, milliseconds, `Z`
 */
export function buildDeleteBody(userId: string, timestamp: string): string {
  return JSON.stringify({ type: 'delete', userId, timestamp });
}

/**
 * The call of a body, as far as the body tells it: its type may be `delete` as well. Nothing but what names it is known of
 * bytes that are no JSON object.
 */
export function callInBody(
  { messageId, type }: { readonly messageId: string; readonly type: string },
  body: Buffer,
): Call {
  const fields = parsedFields(body);
  return {
    type: type as CallType,
    messageId,
    userId: textOf(fields['userId'] ?? fields['User ID']),
    anonymousId: textOf(fields['anonymousId']),
    timestamp: textOf(fields['timestamp']) ?? '',
    fields: { ...fields, previousId: fields['previousId'] ?? fields['Previous ID'] },
  };
}

function parsedFields(body: Buffer): Call['fields'] {
  try {
    const json: unknown = JSON.parse(body.toString());
    return typeof json === 'object' && json !== null ? { ...json } : {};
  } catch {
    return {};
  }
}

// In every shape a key whose value is undefined is left out by JSON.stringify.

function fullShape(call: Call): Readonly<Record<string, unknown>> {
  return {
    ...call.fields,
    messageId: call.messageId,
    timestamp: call.timestamp,
    writeKey: undefined,
  };
}

function standardShape(call: Call): Readonly<Record<string, unknown>> {
  const { type, userId, timestamp, fields } = call;
  const anonymousId = userId === undefined ? call.anonymousId : undefined;
  const context = fields['context'] ?? undefined;
  switch (type) {
    case 'track': {
      const { event } = fields;
      const properties = fields['properties'] ?? undefined;
      return { version: 1, type, userId, anonymousId, event, properties, context, timestamp };
    }
    case 'page': {
      const properties = pageProperties(fields);
      return { version: 1, type, userId, anonymousId, properties, context, timestamp };
    }
    case 'screen': {
      const name = fields['name'] ?? undefined;
      const properties = fields['properties'] ?? undefined;
      return { version: 1, type, userId, anonymousId, name, properties, context, timestamp };
    }
    case 'identify': {
      const traits = fields['traits'] ?? undefined;
      return { version: 1, type, userId, anonymousId, traits, context, timestamp };
    }
    case 'group': {
      const { groupId } = fields;
      const traits = fields['traits'] ?? undefined;
      return { version: 1, type, userId, anonymousId, groupId, traits, context, timestamp };
    }
    case 'alias': {
      const previousId = fields['previousId'];
      return { version: 1, type, 'Previous ID': previousId, 'User ID': userId, context, timestamp };
    }
  }
}

/** With the call's `name` and `category`, unless they are there. Properties that are no object stay as they are. */
function pageProperties(fields: Call['fields']): unknown {
  const properties = fields['properties'] ?? undefined;
  const name = fields['name'] ?? undefined;
  const category = fields['category'] ?? undefined;
  if (name === undefined && category === undefined) return properties;
  if (properties !== undefined && (typeof properties !== 'object' || Array.isArray(properties))) {
    return properties;
  }
  const own = properties ?? {};
  return {
    ...own,
    ...(name === undefined || Object.hasOwn(own, 'name') ? undefined : { name }),
    ...(category === undefined || Object.hasOwn(own, 'category') ? undefined : { category }),
  };
}
