import {
  decodeAudienceRoute,
  type AudienceRoute,
  decodeOrigin,
  isOwnHeader,
  originHeader,
  chooseWriteKey,
  writeKeyHeader,
} from '../event/headers.ts';
import type { Call } from '../event/call.ts';
import { maxCallBytes, maxHeaderBytes, maxHeaders } from '../event/limits.ts';
import {
  maxBytesOf,
  callOf,
  parseCall,
  type Origin,
  type ParsedCall,
} from '../event/parse-call.ts';
import type { Rejection } from '../event/rejection.ts';
import { isTime } from '../event/timestamp.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import { payloadOf, schemaIdOf } from '../schemas/registered-schema.ts';
import type { Schemas } from '../schemas/schemas.ts';

/** The call of a record, with the name of its source, which may not exist. */
export interface ReadCall {
  readonly call: Call;
  /** Empty for a call that an audience sync made. */
  readonly writeKey: string;
  /** Set for a call that an audience sync made. */
  readonly audience: AudienceRoute | undefined;
  readonly arrival: Arrival;
  readonly rejection?: undefined;
  readonly awaitedSchema?: undefined;
}

export interface Unreadable {
  readonly arrival: Arrival;
  readonly rejection: Rejection;
  readonly awaitedSchema?: undefined;
}

/** The record can be read once the schema with this id is known. */
export interface NotYetReadable {
  readonly rejection?: undefined;
  readonly awaitedSchema: number;
}

/**
 * Depends only on the record and its schema.
 * @param audienceTopic the topic that syncs write to
 */
export function readCall(
  record: IncomingRecord,
  schemas: Schemas,
  audienceTopic: string,
): ReadCall | Unreadable | NotYetReadable {
  const arrival = arrivalOf(record);
  const flaw = record.flaw ?? excessOf(record.headers);
  if (flaw !== undefined) return { arrival, rejection: tooManyHeaders(flaw) };
  const id = schemaIdOf(record.value);
  const parsed =
    record.value === null || id === undefined
      ? parseCall(record.value, arrival.origin, maxBytesOf(record.headers))
      : parseTyped(record.value, id, arrival, schemas);
  if (parsed === undefined) return { awaitedSchema: id ?? 0 };
  const { call, rejected } = parsed;
  if (call === undefined) return { arrival, rejection: rejected };
  const audience = record.topic === audienceTopic ? decodeAudienceRoute(record.headers) : undefined;
  if (audience !== undefined) return { call, writeKey: '', audience, arrival };
  const writeKey = chooseWriteKey(record.headers[writeKeyHeader], call.writeKey);
  return writeKey === undefined
    ? { arrival, rejection: withoutWriteKey }
    : { call, writeKey, audience, arrival };
}

/** Undefined while the schema is not known. */
function parseTyped(
  value: Buffer,
  id: number,
  { origin }: Arrival,
  schemas: Schemas,
): ParsedCall | undefined {
  if (value.length > maxCallBytes) return { rejected: tooLarge(value.length) };
  const known = schemas.find(id);
  if (known === undefined) return undefined;
  if (known.decode === undefined) return { rejected: known.rejection };
  const { object, rejected } = known.decode(payloadOf(value));
  return object === undefined ? { rejected } : callOf(object, origin);
}

/**
 * Kafka's reader takes more headers than a call may have, so that the copy of a rejected record can be read with
 * those that were added to it, and sent again.
 */
function excessOf(headers: IncomingRecord['headers']): string | undefined {
  let count = 0;
  let mostBytes = 0;
  for (const name in headers) {
    count += 1;
    // A character that is one unit of a string has three bytes at most.
    mostBytes += 3 * name.length + (headers[name]?.length ?? 0);
  }
  return count > maxHeaders || mostBytes > maxHeaderBytes ? excessOfOwn(headers) : undefined;
}

/** Without those that the copy of a rejected record has besides. */
function excessOfOwn(headers: IncomingRecord['headers']): string | undefined {
  let count = 0;
  let bytes = 0;
  for (const name in headers) {
    if (!isOwnHeader(name)) continue;
    count += 1;
    bytes += Buffer.byteLength(name) + (headers[name]?.length ?? 0);
  }
  if (count > maxHeaders) return `it has ${count} headers, and ${maxHeaders} are allowed`;
  if (bytes <= maxHeaderBytes) return undefined;
  return `its headers have ${bytes.toLocaleString('en')} bytes, and ${maxHeaderBytes.toLocaleString('en')} are allowed`;
}

function tooManyHeaders(flaw: string): Rejection {
  return { reason: 'too-many-headers', detail: `The record is not read: ${flaw}.` };
}

function tooLarge(bytes: number): Rejection {
  const detail = `The value has ${bytes} bytes; a call may have ${maxCallBytes}.`;
  return { reason: 'too-large', detail };
}

const withoutWriteKey: Rejection = {
  reason: 'no-write-key',
  detail: `Neither the header ${writeKeyHeader} nor the field writeKey names a source.`,
};

/** Long enough to recognize the key by, and to add it to its source. */
const shownCharacters = 200;

/** The rejection of a call whose source does not exist. */
export function unknownSource({ writeKey, audience }: ReadCall): Rejection {
  if (audience !== undefined) {
    const named = JSON.stringify(audience.sourceId.slice(0, shownCharacters));
    return { reason: 'unknown-source', detail: `There is no source ${named}.` };
  }
  const shown = JSON.stringify(writeKey.slice(0, shownCharacters));
  return { reason: 'unknown-write-key', detail: `No source has the write key ${shown}.` };
}

interface Arrival {
  readonly origin: Origin;
  /** The time at which a rejected record was sent again. */
  readonly redrivenMs: number | undefined;
}

/**
 * The place where a record first arrived: its own place, unless it was rejected and sent again. Any producer
 * can write that header, so it must not allow more than the call's own fields do: its place only names a call
 * without a `messageId`, and its append time may only make a call older. A call that claimed to come from the
 * future would outlive every age limit and deletion.
 *
 * A record from before its topic had Kafka's append time may have any time, or none. An impossible time
 * becomes 0, so the call counts as older than all others.
 */
export function arrivalOf(record: IncomingRecord): Arrival {
  const { topic, partition, offset } = record;
  const timestampMs = isTime(record.timestampMs) ? record.timestampMs : 0;
  const first = decodeOrigin(record.headers[originHeader]);
  if (first === undefined) {
    const origin = { topic, partition, offset, appendTimeMs: timestampMs };
    return { origin, redrivenMs: undefined };
  }
  const appendTimeMs = Math.min(first.appendTimeMs, timestampMs);
  return { origin: { ...first, appendTimeMs }, redrivenMs: timestampMs };
}
