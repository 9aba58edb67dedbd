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
 * Key, value and headers as they came, with the reason and where the record first stood. Headers that
 * only a sync may write are left out of what came on another topic: any producer may name
 * `ingest.audience` as the origin of its record, which would be sent there again with them.
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
    // Kafka allows headers without a value, kafkajs cannot write them.
    ...Object.fromEntries(own.map(([name, value]) => [name, value ?? Buffer.alloc(0)])),
    [reasonHeader]: reason,
    [detailHeader]: detail,
    [originHeader]: encodeOrigin(origin),
  };
  return { topic: topics.rejected, key: record.key, value: record.value, headers };
}
