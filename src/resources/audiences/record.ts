import { z } from 'zod';
import { PostriderError } from '../../errors.ts';

/**
 * What is known of an audience or computed trait beside its members: a record of `audience-syncs`, whose key
 * is its id. It outlives the resource for as long as users have a trait from it.
 */
export interface AudienceRecord {
  /** The present trait, and former ones that users have still. */
  readonly told: readonly ToldTrait[];
  /** What the last syncs did, the newest first. */
  readonly syncs: readonly SyncEntry[];
}

/** A trait that users have at destinations, because a sync told them. */
export interface ToldTrait {
  readonly kind: 'Audience' | 'ComputedTrait';
  /** Of the resource. */
  readonly name: string;
  readonly source: string;
  readonly trait: string;
  /** Undefined: all of the source. */
  readonly destinations?: readonly string[] | undefined;
  /** The audience names them no more, and users have the trait there still. */
  readonly formerDestinations: readonly string[];
  /** Users; while a sync sends, those that it will leave. */
  readonly members: number;
}

export const syncActions = ['sync', 'full', 'retire', 'forget'] as const;
export const syncOutcomes = ['done', 'unfinished', 'refused', 'failed'] as const;

/** Of one run. */
export interface SyncEntry extends SyncCounts {
  /** As in the calls' `context.audience.sync`. */
  readonly sync: string;
  readonly action: (typeof syncActions)[number];
  readonly source: string;
  readonly trait: string;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly durationMs: number;
  /** `unfinished`: it is sending, or was cut off. */
  readonly outcome: (typeof syncOutcomes)[number];
  /** Why it was refused or failed. */
  readonly reason?: string | undefined;
}

/** How many users a sync is about. */
export interface SyncCounts {
  /** In the data now. */
  readonly members: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** Unchanged, and told again. */
  readonly baseline: number;
  /** Deleted since they were told: their memberships end without a call. */
  readonly forgotten: number;
}

/** More of them would make a record that every reader has to read and nobody does. */
const mostSyncs = 50;

const version = 1;

const count = z.int().min(0);
const counts = {
  members: count,
  added: count,
  removed: count,
  changed: count,
  baseline: count,
  forgotten: count,
};
const stored = z.object({
  version: z.literal(version),
  told: z.array(
    z.object({
      kind: z.enum(['Audience', 'ComputedTrait']),
      name: z.string(),
      source: z.string(),
      trait: z.string(),
      destinations: z.array(z.string()).optional(),
      formerDestinations: z.array(z.string()),
      members: count,
    }),
  ),
  syncs: z.array(
    z.object({
      sync: z.string(),
      action: z.enum(syncActions),
      source: z.string(),
      trait: z.string(),
      startedAt: z.iso.datetime(),
      durationMs: count,
      outcome: z.enum(syncOutcomes),
      reason: z.string().optional(),
      ...counts,
    }),
  ),
});

export const emptyRecord: AudienceRecord = { told: [], syncs: [] };

export function encodeAudienceRecord({ told, syncs }: AudienceRecord): string {
  return JSON.stringify({ version, told, syncs });
}

/** @throws PostriderError `resource-invalid` for a record that this version cannot read */
export function decodeAudienceRecord(id: string, value: string): AudienceRecord {
  const result = stored.safeParse(parseJson(value));
  if (result.success) return { told: result.data.told, syncs: result.data.syncs };
  throw new PostriderError(
    'resource-invalid',
    `the record of ${id} in audience-syncs is not one that this version can read`,
  );
}

/** Puts it first, or in the place of the same run's. */
export function withEntry(syncs: readonly SyncEntry[], entry: SyncEntry): readonly SyncEntry[] {
  const others = syncs.filter(({ sync }) => sync !== entry.sync);
  return [entry, ...others].slice(0, mostSyncs);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
