import { z } from 'zod';
import { PostriderError } from '../../errors.ts';
import { emittedCalls, type EmittedCall } from '../resource.ts';

/**
 * The state of an audience or computed trait, except its members: a record of `audience-syncs`, whose key is
 * its id. It outlives the resource as long as users have a trait from it.
 */
export interface AudienceRecord {
  /** The present trait, and former ones that users still have. */
  readonly told: readonly ToldTrait[];
  /** Results of the last syncs, the newest first. */
  readonly syncs: readonly SyncEntry[];
}

/** A trait that users have at destinations, because a sync sent it. */
export interface ToldTrait {
  readonly kind: 'Audience' | 'ComputedTrait';
  /** Name of the resource. */
  readonly name: string;
  readonly source: string;
  readonly trait: string;
  /** Undefined: all of the source. */
  readonly destinations?: readonly string[] | undefined;
  /** The calls that have ever told of the trait, which take it back; undefined: identify alone. */
  readonly emit?: readonly EmittedCall[] | undefined;
  /** Destinations that are no longer configured for the audience, where users still have the trait. */
  readonly formerDestinations: readonly string[];
  /** Number of users; while a sync sends, the larger one of those before and after it. */
  readonly members: number;
  /**
   * The time at which the last complete sync of the trait began, by Kafka's clock; 0: there is
   * none. Undefined in records of earlier versions.
   */
  readonly syncedMs?: number | undefined;
}

const syncActions = ['sync', 'full', 'retire', 'forget'] as const;
const syncOutcomes = ['done', 'unfinished', 'refused', 'failed'] as const;

/** The record of one run. */
export interface SyncEntry extends SyncCounts {
  /** The sync's id, as in the calls' `context.audience.sync`. */
  readonly sync: string;
  readonly action: (typeof syncActions)[number];
  readonly source: string;
  readonly trait: string;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly durationMs: number;
  /** `unfinished`: the run is sending, or was interrupted. */
  readonly outcome: (typeof syncOutcomes)[number];
  /** Why the sync was refused or failed. */
  readonly reason?: string | undefined;
}

/** Numbers of users in a sync. */
export interface SyncCounts {
  /** In the data now. */
  readonly members: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** Unchanged, and sent again. */
  readonly baseline: number;
  /** Deleted since the trait was sent: their memberships end without a call. */
  readonly forgotten: number;
}

/** More entries would make a large record, which every reader has to read. */
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
      emit: z.array(z.enum(emittedCalls)).optional(),
      formerDestinations: z.array(z.string()),
      members: count,
      syncedMs: count.optional(),
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

/** Puts the entry first, or in the place of an entry of the same run. */
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

/** The trait that an audience or computed trait has now. */
export interface SaidTrait {
  readonly kind: 'Audience' | 'ComputedTrait';
  readonly name: string;
  readonly source: string;
  readonly trait: string;
  /** Undefined: all of the source. */
  readonly destinations?: readonly string[] | undefined;
  /** Undefined: identify alone. */
  readonly emit?: readonly EmittedCall[] | undefined;
}

/** Membership belongs to a trait of a source. With another source, it is another trait. */
export function isSameTrait(
  one: Pick<SaidTrait, 'kind' | 'source' | 'trait'>,
  other: Pick<SaidTrait, 'kind' | 'source' | 'trait'>,
): boolean {
  return one.kind === other.kind && one.source === other.source && one.trait === other.trait;
}

/** The record of the present trait; undefined before its first sync. */
export function toldOf(told: readonly ToldTrait[], said: SaidTrait): ToldTrait | undefined {
  return told.find((each) => isSameTrait(each, said));
}

/** Former traits that users still have. */
export function formerTraits(told: readonly ToldTrait[], said: SaidTrait): readonly ToldTrait[] {
  return told.filter((each) => !isSameTrait(each, said));
}

/**
 * Destinations where users have the trait although it is no longer sent there.
 * @param connected every destination of the source
 */
export function formerDestinations(
  before: ToldTrait | undefined,
  said: SaidTrait,
  connected: readonly string[],
): readonly string[] {
  if (before === undefined || before.members === 0) return [];
  const reached = [...(before.destinations ?? connected), ...before.formerDestinations];
  const { destinations } = said;
  if (destinations === undefined) return [];
  return [...new Set(reached)].filter((id) => connected.includes(id) && !destinations.includes(id));
}

/** The record's traits with this one updated. A former trait that no user has anymore is removed. */
export function withTold(told: readonly ToldTrait[], now: ToldTrait): readonly ToldTrait[] {
  return [now, ...told.filter((each) => !isSameTrait(each, now))];
}

/** The calls that have told of the trait by now. */
export function emittedEver(
  before: ToldTrait | undefined,
  { emit }: SaidTrait,
): readonly EmittedCall[] | undefined {
  if (before === undefined) return emit;
  const ever = new Set([...(before.emit ?? usual), ...(emit ?? usual)]);
  return ever.has('track') ? emittedCalls.filter((each) => ever.has(each)) : undefined;
}

const usual: readonly EmittedCall[] = ['identify'];
