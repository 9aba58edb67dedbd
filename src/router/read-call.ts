import type { Call } from '../event/call.ts';
import { maxBytesOf } from '../event/merged-call.ts';
import { parseCall } from '../event/parse-call.ts';
import type { Rejection } from '../event/rejection.ts';
import { chooseWriteKey, writeKeyHeader } from '../event/write-key.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import { arrivalOf, type Arrival } from './arrival.ts';

/** A record's call, which names its source but may not have one. */
export interface ReadCall {
  readonly call: Call;
  readonly writeKey: string;
  readonly arrival: Arrival;
  readonly rejection?: undefined;
}

export interface Unreadable {
  readonly arrival: Arrival;
  readonly rejection: Rejection;
}

/** Depends on nothing but the record. */
export function readCall(record: IncomingRecord): ReadCall | Unreadable {
  const arrival = arrivalOf(record);
  const { call, rejected } = parseCall(record.value, arrival.origin, maxBytesOf(record.headers));
  if (call === undefined) return { arrival, rejection: rejected };
  const writeKey = chooseWriteKey(record.headers[writeKeyHeader], call.writeKey);
  return writeKey === undefined
    ? { arrival, rejection: withoutWriteKey }
    : { call, writeKey, arrival };
}

const withoutWriteKey: Rejection = {
  reason: 'no-write-key',
  detail: `Neither the header ${writeKeyHeader} nor the field writeKey names a source.`,
};

/** Long enough to recognise the key by, and to add it to its source. */
const shownCharacters = 200;

export function unknownWriteKey(writeKey: string): Rejection {
  const shown = JSON.stringify(writeKey.slice(0, shownCharacters));
  return { reason: 'unknown-write-key', detail: `No source has the write key ${shown}.` };
}
