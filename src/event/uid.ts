/**
 * The destination of a name: an id may be used again once its destination is deleted, and a uid never is. `apply`
 * makes one for each new destination, and whatever waits for a destination, is kept, shown or linked bears it.
 */
export interface WithUid {
  /** Undefined: the first destination of the id, or one that was made before there were uids. */
  readonly uid?: string | undefined;
}

/** A destination, and not only its name. */
export interface Identity extends WithUid {
  readonly id: string;
}

/** Tells whether a record belongs to the destination, and not to an earlier one of the id. No other code decides this. */
export function isOf(destination: WithUid, record: WithUid): boolean {
  return destination.uid === record.uid;
}

/** Short text without characters that JSON escapes; every record of the destination carries it. */
export function isUid(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,32}$/.test(value);
}

/** One text for both, as the key of a map. Ids have no space. */
export function identityText({ id, uid }: Identity): string {
  return uid === undefined ? id : `${id} ${uid}`;
}

/** The id of such a text. */
export function idIn(text: string): string {
  const end = text.indexOf(' ');
  return end < 0 ? text : text.slice(0, end);
}
