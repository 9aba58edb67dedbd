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
  /** How the identity provider calls the person. People can often change it themselves. */
  readonly name?: string;
  /** Absent: in the console. */
  readonly via?: 'command-line';
  readonly action: AuditAction;
  readonly destination?: string;
  /** The choice that was made, or the result. */
  readonly detail?: string;
  /** Absent: it was begun, or is done. */
  readonly outcome?: 'refused' | 'failed';
}

export const auditActions = [
  'log-in',
  'log-out',
  'make-link',
  'revoke-link',
  'open-link',
  'read-bodies',
  'send-test',
  'pause',
  'resume',
  'redrive',
  'redrive-rejected',
  'apply',
  'delete',
  'delete-user',
  'rotate-secrets',
  'add-partitions',
  'audience-sync',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** What the topic holds besides what people are shown: who may still come in follows from it. */
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
  /** Of the token, in base64url. */
  readonly sha256: string;
  readonly destination: string;
  /** Which destination of the id; null: the first one. */
  readonly uid: string | null;
  /** Whether bodies of events are shown too. */
  readonly bodies: boolean;
  readonly untilMs: number;
}

/** Undefined for an invalid record. */
export function decodeAuditEntry(value: Buffer | null): AuditRecord | undefined {
  try {
    const json = JSON.parse(value?.toString() ?? '') as Partial<AuditRecord> | null;
    const isEntry = [json?.id, json?.at, json?.user, json?.action].every(
      (each) => typeof each === 'string',
    );
    return isEntry ? (json as AuditRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** Without what only the console's access needs. */
export function shownEntry(record: AuditRecord): AuditEntry {
  const hidden: ReadonlySet<string> = new Set(['link', 'revoked', 'session']);
  const shown = Object.entries(record).filter(([name]) => !hidden.has(name));
  return Object.fromEntries(shown) as unknown as AuditEntry;
}
