import type { FetchedHeaders, FetchedRecord } from '../kafkajs/fetched-record.ts';
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
    headers: lastHeaders(message.headers),
  };
}

/** One that repeats is a list, and one without a value is null; both are rare. */
function lastHeaders(given: FetchedHeaders): IncomingRecord['headers'] {
  for (const name in given) {
    if (!Buffer.isBuffer(given[name])) return copyLast(given);
  }
  return given as IncomingRecord['headers'];
}

function copyLast(given: FetchedHeaders): IncomingRecord['headers'] {
  const headers: Record<string, Buffer | undefined> = {};
  for (const [name, value] of Object.entries(given)) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    headers[name] = last ?? undefined;
  }
  return headers;
}
