/**
 * Why a record goes to `ingest.rejected` instead of to destinations, each with an explanation for operators.
 */
export const rejectReasons = {
  empty: 'the record has no value',
  'too-large': 'the call is larger than 32 KB',
  'too-many-headers': 'the record has more headers than are kept in memory',
  undecodable: 'the value is neither UTF-8 text nor what its schema says',
  'no-registry': 'the value names a schema, and no schema registry is configured',
  'unknown-schema': 'the value names a schema that the schema registry does not know',
  'unusable-schema': 'the value names a schema that this version cannot use',
  'invalid-json': 'the value is not JSON',
  'too-deep': 'objects and arrays are nested deeper than 64',
  'not-an-object': 'the value is JSON, but not an object',
  batch: 'the value is a batch; a record holds one call',
  'invalid-type': 'the type is missing, unknown, or one that producers may not send',
  'invalid-id': 'an id is neither a string nor a safe integer, or has more than 1,024 bytes',
  'no-user': 'the call names no user: userId and anonymousId are missing, or userId on an alias',
  'no-event': 'a track call without an event name',
  'no-group-id': 'a group call without a groupId',
  'no-previous-id': 'an alias call without a previousId',
  'invalid-timestamp': 'the timestamp is not an ISO 8601 date between the years 0 and 9999',
  'no-write-key': 'neither the header write-key nor the field writeKey names a source',
  'unknown-write-key': 'no source has this write key',
  'unknown-source': 'an audience sync made the call for a source that does not exist',
  unroutable: 'the router failed on the call: a defect in Postrider, not in the call',
  unwritable: 'Kafka refuses the record that was made from the call',
} as const;

export type RejectReason = keyof typeof rejectReasons;

/**
 * Reasons that another configuration, a larger topic limit or a newer version can fix. The other reasons are
 * about the bytes themselves, so the same call is always rejected again.
 */
const mendable: ReadonlySet<string> = new Set<RejectReason>([
  'no-registry',
  'unknown-schema',
  'unusable-schema',
  'unknown-write-key',
  'unknown-source',
  'unroutable',
  'unwritable',
]);

/** False for reasons that stay true for a call, however often it is sent again. */
export function isMendable(reason: string): boolean {
  return mendable.has(reason) || !Object.hasOwn(rejectReasons, reason);
}

export interface Rejection {
  readonly reason: RejectReason;
  /** One short sentence about this record, without the call's contents. */
  readonly detail: string;
}

/** V8 and libraries may quote any length of text in their messages. */
const mostCharacters = 100;

/** The text of an unexpected error, for a detail: escaped, and no longer than a line. */
export function shownError(error: unknown): string {
  return JSON.stringify(String(error).slice(0, mostCharacters));
}
