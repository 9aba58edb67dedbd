import type { FetchedRecord } from '../kafkajs/fetched-record.ts';
import type { IncomingRecord } from '../record.ts';

/** A record as kafkajs hands it over, as the stages take it. Nothing is copied. */
export function incomingRecord(
  topic: string,
  partition: number,
  message: FetchedRecord,
): IncomingRecord {
  return {
    topic,
    partition,
    offset: message.offsetNumber,
    timestampMs: message.timestampMs,
    key: message.key,
    value: message.value,
    headers: message.headers,
  };
}
