import type { SyncTarget } from './sync-target.ts';

/** How many users a sync is about. */
export interface SyncCounts {
  /** In the data now. */
  readonly members: number;
  /** Whose value was emitted before and who have not left since. */
  readonly before: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** Unchanged, and told to a new destination. */
  readonly baseline: number;
}

export interface SafetyLimits {
  /** Whether an audience may become empty. */
  readonly allowEmpty: boolean;
  /** Of those before, a whole number from 0 to 100. */
  readonly maxRemovedPercent: number;
}

/**
 * Why a sync must not go on: its data is more likely broken than true. Undefined where nothing is wrong.
 * One sentence that ends with how to go on all the same.
 */
export function objectionTo(
  target: SyncTarget,
  counts: SyncCounts,
  limits: SafetyLimits,
): string | undefined {
  const { members, before, removed } = counts;
  if (before === 0) return undefined;
  const name = `${target.kind} ${target.id}`;
  if (members === 0) {
    if (limits.allowEmpty) return undefined;
    return `${name} has nobody in its data and had ${before}; nothing was sent. If that is right, use --allow-empty`;
  }
  const { maxRemovedPercent } = limits;
  // In whole numbers: 57 / 100 * 100 is less than 57.
  if (removed * 100 <= before * maxRemovedPercent) return undefined;
  // Rounded up, so that what is shown is enough as a limit.
  const lost = Math.ceil((removed * 100) / before);
  return `${name} would lose ${removed} of ${before} users (${lost} %), allowed: ${maxRemovedPercent} %; nothing was sent. If that is right, use --max-removed ${lost}`;
}
