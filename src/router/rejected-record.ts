import { audienceDestinationsHeader, audienceSourceHeader } from '../event/audience-headers.ts';
import type { Origin } from '../event/parse-call.ts';
import {
  detailHeader,
  encodeOrigin,
  originHeader,
  reasonHeader,
} from '../event/rejected-headers.ts';
import type { Rejection } from '../event/rejection.ts';
import type { IncomingRecord, OutgoingRecord } from '../kafka/record.ts';

/**
 * Key, value and headers as they came, with the reason and the record's first place. Headers that only a sync
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
  const own = Object.entries(record.headers).filter(
    ([name]) => isOfSync || !(name === audienceSourceHeader || name === audienceDestinationsHeader),
  );
  const headers = {
    // Kafka allows headers without a value, which kafkajs cannot write.
    ...Object.fromEntries(own.map(([name, value]) => [name, value ?? Buffer.alloc(0)])),
    [reasonHeader]: reason,
    [detailHeader]: detail,
    [originHeader]: encodeOrigin(origin),
  };
  return { topic: topics.rejected, key: record.key, value: record.value, headers };
}
