import { audienceDestinationsHeader, audienceSourceHeader } from '../event/audience-headers.ts';
import { shortened } from '../event/last-answer.ts';
import type { Origin } from '../event/parse-call.ts';
import {
  detailHeader,
  encodeOrigin,
  originHeader,
  reasonHeader,
} from '../event/rejected-headers.ts';
import type { Rejection } from '../event/rejection.ts';
import type { IncomingRecord, OutgoingRecord } from '../kafka/record.ts';

/** Of a detail. It may name fields of the call, whose names have any length. */
const mostDetailCharacters = 1_000;

/**
 * Key, value and headers as they came, with the reason and the record's first place. Without its own headers if
 * they are too many, because nobody could read the copy then. Headers that only a sync
 * may write are removed from records of other topics: any producer may name `ingest.audience` as the origin
 * of its record, and a redrive would write those headers there.
 */
export function rejectedRecord(
  topics: { readonly rejected: string; readonly audience: string },
  record: IncomingRecord,
  origin: Origin,
  { reason, detail }: Rejection,
): OutgoingRecord {
  const isOfSync = record.topic === topics.audience;
  const fits = reason !== 'too-many-headers';
  const own = Object.entries(fits ? record.headers : {}).filter(
    ([name]) => isOfSync || !(name === audienceSourceHeader || name === audienceDestinationsHeader),
  );
  const headers = {
    // Kafka allows headers without a value, which kafkajs cannot write.
    ...Object.fromEntries(own.map(([name, value]) => [name, value ?? Buffer.alloc(0)])),
    [reasonHeader]: reason,
    [detailHeader]: shortened(detail, mostDetailCharacters),
    [originHeader]: encodeOrigin(origin),
  };
  return { topic: topics.rejected, key: record.key, value: record.value, headers };
}
