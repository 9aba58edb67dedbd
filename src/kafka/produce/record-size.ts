import { PostriderError } from '../../errors.ts';
import type { HeaderValue, OutgoingRecord } from '../record.ts';

/** The longest lengths, deltas and attributes of one record. */
const recordOverheadBytes = 30;
const headerOverheadBytes = 10;

/**
 * The most space that a record can take in a batch before compression. A record that cannot be encoded is
 * found here, before it can hold up others.
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
