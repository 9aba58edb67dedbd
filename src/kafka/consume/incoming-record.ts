import type { KafkaMessage } from 'kafkajs';
import type { IncomingRecord } from '../record.ts';

/** A record as kafkajs hands it over, as the stages take it. Nothing is copied. */
export function incomingRecord(
  topic: string,
  partition: number,
  message: KafkaMessage,
): IncomingRecord {
  return {
    topic,
    partition,
    offset: Number(message.offset),
    timestampMs: Number(message.timestamp),
    key: message.key,
    value: message.value,
    headers: lastHeaders(message.headers),
  };
}

/** kafkajs makes a list of a header that repeats, and null of one without a value; both are rare. */
function lastHeaders(given: KafkaMessage['headers']): IncomingRecord['headers'] {
  for (const name in given) {
    if (!Buffer.isBuffer(given[name])) return copyLast(given);
  }
  return (given ?? {}) as IncomingRecord['headers'];
}

function copyLast(given: NonNullable<KafkaMessage['headers']>): IncomingRecord['headers'] {
  const headers: Record<string, Buffer | undefined> = {};
  for (const [name, value] of Object.entries(given)) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    headers[name] = typeof last === 'string' ? Buffer.from(last) : (last ?? undefined);
  }
  return headers;
}
