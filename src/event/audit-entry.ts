/** A record of the topic `audit`: what somebody did, or tried to do. */
export interface AuditEntry {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /**
   * By what cannot be chosen: `<issuer> <sub>` of the identity provider, the name of a token, or `link <id>` of a
   * customer. A command says as whom it reaches Kafka.
   */
  readonly user: string;
  /** The identity provider's name of the person. People can often change it themselves. */
  readonly name?: string;
  /** Absent: in the console. */
  readonly via?: 'command-line' | 'api';
  readonly action: AuditAction;
  readonly destination?: string;
  /** The choice that was made, or the result. */
  readonly detail?: string;
  /** Absent: it was begun, or is done. */
  readonly outcome?: 'refused' | 'failed';
  /** It takes long, so an entry that says how it ended follows. */
  readonly isRun?: true;
  /** The customer whose events a run sends. */
  readonly customer?: string;
  /**
   * The destinations whose events a run sends, if these are several. Absent without `destination` too: all of the
   * `customer`; without that, all, or more than an entry names.
   */
  readonly destinations?: readonly string[];
  /** With an end: the id of the entry with which it began. */
  readonly began?: string;
  /** With the end of a run: how many events were sent, or users deleted. */
  readonly sent?: number;
  /** With the end of a run: what had become of these events by then, as far as it was looked for. */
  readonly became?: RunOutcome;
}

/** The end of the events that a run sent. */
export interface RunOutcome {
  readonly delivered: number;
  /** In the dead letters again. */
  readonly refused: number;
  /** For another attempt, or for a paused destination to be resumed. */
  readonly waiting: number;
  /** Nothing is known of them yet. */
  readonly other: number;
  /** Their user was deleted meanwhile; absent: none was. */
  readonly dropped?: number;
}

export const auditActions = [
  'log-in',
  'log-out',
  'make-link',
  'revoke-link',
  'open-link',
  'read-bodies',
  'send-test',
  'retry',
  'pause',
  'resume',
  'redrive',
  'redrive-rejected',
  'apply',
  'delete',
  'put-destination',
  'delete-destination',
  'put-source',
  'delete-source',
  'roll-secret',
  'delete-user',
  'suppress-user',
  'rotate-secrets',
  'add-partitions',
  'audience-sync',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** An entry with what people are not shown: who may still come in follows from it. */
export interface AuditRecord extends AuditEntry {
  /** With `make-link`. */
  readonly link?: RecordedLink;
  /** With `revoke-link`: the id of the link. */
  readonly revoked?: string;
  /** With `log-out`: the session, and when it would have ended. */
  readonly session?: { readonly id: string; readonly untilMs: number };
}

/** A customer's link. Its token is in the link alone. */
export interface RecordedLink {
  readonly id: string;
  /** The hash of the token, in base64url. */
  readonly sha256: string;
  readonly destination: string;
  /** The uid of the destination of the id; null: the first one. */
  readonly uid: string | null;
  /** True if bodies of events are shown too. */
  readonly bodies: boolean;
  readonly untilMs: number;
}

/** A customer may have more destinations than Kafka takes ids in one record. */
const mostNamed = 2_000;

/** The destinations whose events a run sends, as entries have them; none if they are too many to be named. */
export function ofDestinations(
  ids: Iterable<string> | undefined,
): Pick<AuditEntry, 'destination' | 'destinations'> {
  const all = [...(ids ?? [])];
  const [destination] = all;
  if (destination === undefined || all.length > mostNamed) return {};
  return all.length === 1 ? { destination } : { destinations: all };
}

/** The ids in such an entry; none: of all destinations, or of no single one. */
export function destinationsIn({
  destination,
  destinations,
}: Pick<AuditEntry, 'destination' | 'destinations'>): readonly string[] {
  return destinations ?? (destination === undefined ? [] : [destination]);
}

/** Undefined for an invalid record. */
export function decodeAuditEntry(value: Buffer | null): AuditRecord | undefined {
  try {
    const json = JSON.parse(value?.toString() ?? '') as Partial<AuditRecord> | null;
    const isEntry = [json?.id, json?.at, json?.user, json?.action].every(
      (each) => typeof each === 'string',
    );
    return isEntry && hasRunFields(json ?? {}) ? (json as AuditRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** Another version, or whoever may write to the topic, may mean something else by these names. */
function hasRunFields(entry: Partial<AuditRecord>): boolean {
  const { began, sent, customer, destinations, became } = entry;
  const counts: readonly unknown[] =
    became === undefined ? [] : [became.delivered, became.refused, became.waiting, became.other];
  return (
    [began, customer].every((each) => ['string', 'undefined'].includes(typeof each)) &&
    [...counts, sent ?? 0].every((each) => Number.isSafeInteger(each)) &&
    (destinations === undefined ||
      (Array.isArray(destinations) && destinations.every((each) => typeof each === 'string')))
  );
}

/** Without what only the console's access needs. */
export function shownEntry(record: AuditRecord): AuditEntry {
  const hidden: ReadonlySet<string> = new Set(['link', 'revoked', 'session']);
  const shown = Object.entries(record).filter(([name]) => !hidden.has(name));
  return Object.fromEntries(shown) as unknown as AuditEntry;
}
