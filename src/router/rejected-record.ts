import type { Origin } from '../event/parse-call.ts';
import {
  detailHeader,
  encodeOrigin,
  originHeader,
  reasonHeader,
} from '../event/rejected-headers.ts';
import type { Rejection } from '../event/rejection.ts';
import type { IncomingRecord, OutgoingRecord } from '../kafka/record.ts';

/** Key, value and headers as they came, with the reason and where the record first stood. */
export function rejectedRecord(
  topic: string,
  record: IncomingRecord,
  origin: Origin,
  { reason, detail }: Rejection,
): OutgoingRecord {
  const own = Object.entries(record.headers);
  const headers = {
    // Kafka allows headers without a value, kafkajs cannot write them.
    ...Object.fromEntries(own.map(([name, value]) => [name, value ?? Buffer.alloc(0)])),
    [reasonHeader]: reason,
    [detailHeader]: detail,
    [originHeader]: encodeOrigin(origin),
  };
  return { topic, key: record.key, value: record.value, headers };
}
