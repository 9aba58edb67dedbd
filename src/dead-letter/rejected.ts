import type { Origin } from '../event/parse-call.ts';
import {
  decodeOrigin,
  detailHeader,
  encodeOrigin,
  isOwnHeader,
  originHeader,
  reasonHeader,
  chooseWriteKey,
  writeKeyField,
  writeKeyHeader,
} from '../event/headers.ts';
import { isMendable } from '../event/rejection.ts';
import { textFieldIn } from '../event/text-field.ts';
import type { IncomingRecord, OutgoingRecord } from '../kafka/record.ts';
import type { Topology } from '../topology.ts';
import type { Letter } from './letter.ts';
import type { Objection } from './sift.ts';

/** A call that could not be routed. */
export interface RejectedCall extends Letter {
  /** The place where it first arrived. */
  readonly origin: Origin;
}

/** Reads a record of `ingest.rejected` for display and selection. */
export function readRejected(record: IncomingRecord): RejectedCall {
  const { headers } = record;
  return {
    record,
    reason: headers[reasonHeader]?.toString() ?? 'unknown',
    detail: headers[detailHeader]?.toString() ?? '',
    origin: originOf(record),
  };
}

/**
 * Sends the unchanged call back to the topic where it first arrived, with its origin, so that it keeps its
 * id, time and age. If that is not one of the topics that calls are read from, `ingest` takes its place,
 * because any producer may have written the header.
 */
export function sentAgain({ record, origin }: RejectedCall, topology: Topology): OutgoingRecord {
  const { ingestTopics, topics } = topology;
  const own = Object.entries(record.headers).filter(([name]) => isOwnHeader(name));
  const headers = Object.fromEntries(own.map(([name, value]) => [name, value ?? Buffer.alloc(0)]));
  return {
    topic: ingestTopics.includes(origin.topic) ? origin.topic : topics.ingest,
    key: record.key,
    value: record.value,
    headers: { ...headers, [originHeader]: encodeOrigin(origin) },
  };
}

/** Undefined if the record names no source. */
function writeKeyOf({ headers, value }: IncomingRecord): string | undefined {
  const inCall = value === null ? undefined : textFieldIn(value, writeKeyField);
  return chooseWriteKey(headers[writeKeyHeader], inCall);
}

/** Only records of other programs lack the header. Then the record's own place is the best origin. */
function originOf(record: IncomingRecord): Origin {
  const { topic, partition, offset, timestampMs } = record;
  const origin = decodeOrigin(record.headers[originHeader]);
  return origin ?? { topic, partition, offset, appendTimeMs: timestampMs };
}

/** The rejected calls that an operator selects. A condition that is not given holds for all. */
export interface RejectedSelection {
  readonly reasons?: ReadonlySet<string> | undefined;
  /** The record's key, which is the user's id unless the producer chose another. */
  readonly key?: string | undefined;
  /** The write keys of one source. */
  readonly writeKeys?: ReadonlySet<string> | undefined;
}

export function isSelectedCall(
  { record, reason }: RejectedCall,
  selection: RejectedSelection,
): boolean {
  const { reasons, key, writeKeys } = selection;
  if (reasons !== undefined && !reasons.has(reason)) return false;
  if (key !== undefined && record.key?.toString() !== key) return false;
  if (writeKeys === undefined) return true;
  const writeKey = writeKeyOf(record);
  return writeKey !== undefined && writeKeys.has(writeKey);
}

/**
 * Objects to a call whose cause cannot be fixed.
 * @param remedy sends it nevertheless
 */
export function notMendable({ reason }: RejectedCall, remedy: string): Objection | undefined {
  if (isMendable(reason)) return undefined;
  return { why: 'because they are invalid and would be rejected again', name: reason, remedy };
}
