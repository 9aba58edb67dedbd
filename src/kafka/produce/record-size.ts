import { PostriderError } from '../../errors.ts';
import type { HeaderValue, OutgoingRecord } from '../record.ts';

/** Lengths, deltas and attributes of one record, at their longest. */
const recordOverheadBytes = 30;
const headerOverheadBytes = 10;

/**
 * The space that a record takes in a batch before compression, at most. Whatever cannot be encoded is
 * found here, before it can hold its neighbours up.
 * @throws PostriderError `record-refused`
 */
export function recordBytes(record: OutgoingRecord): number {
  let bytes = recordOverheadBytes;
  if (record.key !== null) bytes += fieldBytes(record, 'key', record.key);
  if (record.value !== null) bytes += fieldBytes(record, 'value', record.value);
  const { headers } = record;
  if (headers === undefined) return bytes;
  for (const name in headers) {
    bytes += headerOverheadBytes + Buffer.byteLength(name);
    bytes += fieldBytes(record, name, headers[name]);
  }
  return bytes;
}

function fieldBytes(record: OutgoingRecord, name: string, value: HeaderValue | undefined): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Buffer.isBuffer(value)) return value.length;
  throw new PostriderError(
    'record-refused',
    `A record for topic ${record.topic} cannot be encoded: its ${name} is neither text nor bytes`,
  );
}
