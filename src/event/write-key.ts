/**
 * The header by which a Kafka producer names its source. It takes precedence over the call's own `writeKey`.
 */
export const writeKeyHeader = 'write-key';

/** The field of a call, of a batch or of a record's value that names the source. */
export const writeKeyField = 'writeKey';

/** Undefined where neither the header nor the call names a source. */
export function chooseWriteKey(
  header: Buffer | undefined,
  ofCall: string | undefined,
): string | undefined {
  return header === undefined || header.length === 0 ? ofCall : header.toString();
}
