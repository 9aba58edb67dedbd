/** A record of the topic `audit`: what an operator did in the console. */
export interface AuditEntry {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly user: string;
  readonly action: 'send-test' | 'pause' | 'resume' | 'redrive';
  readonly destination?: string;
  /** The choice that was made, or the result. */
  readonly detail?: string;
}

/** Undefined for an invalid record. */
export function decodeAuditEntry(value: Buffer | null): AuditEntry | undefined {
  try {
    const json = JSON.parse(value?.toString() ?? '') as Partial<AuditEntry> | null;
    const isEntry = [json?.id, json?.at, json?.user, json?.action].every(
      (each) => typeof each === 'string',
    );
    return isEntry ? (json as AuditEntry) : undefined;
  } catch {
    return undefined;
  }
}
