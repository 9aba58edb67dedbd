import type { AudienceLimits } from '../resources/resource.ts';
import type { Difference } from './changes.ts';
import type { SyncTarget } from './sync-target.ts';

/** What may change at once, in percent of those before, and what was confirmed. */
export interface SafetyLimits extends Required<AudienceLimits> {
  /** Whether an audience may become empty. */
  readonly allowEmpty: boolean;
}

export const defaultLimits: Required<AudienceLimits> = {
  maxRemoved: 20,
  maxChanged: 20,
  maxAdded: 100,
};

/**
 * Why a sync must not go on: its data is more likely broken than true. Undefined where nothing is wrong.
 * One sentence that ends with how to go on all the same.
 * @param expected as many as a sync that was cut off would have left: what it could not send is no surprise
 */
export function objectionTo(
  target: Pick<SyncTarget, 'kind'> & { readonly id: string },
  found: Difference,
  limits: SafetyLimits,
  expected: number = 0,
): string | undefined {
  const { members, before, added, removed, changedAlike } = found;
  if (before === 0) return undefined;
  const name = `${target.kind} ${target.id}`;
  if (members === 0) {
    if (limits.allowEmpty) return undefined;
    return `${name} has nobody in its data and had ${before}; nothing was sent. If that is right, use --allow-empty`;
  }
  const rules = [
    { verb: 'lose', users: removed, of: before, most: limits.maxRemoved, option: 'max-removed' },
    {
      verb: 'give the same new value to',
      users: changedAlike,
      of: before,
      most: limits.maxChanged,
      option: 'max-changed',
    },
    {
      verb: 'gain',
      users: added,
      of: Math.max(before, expected),
      most: limits.maxAdded,
      option: 'max-added',
    },
  ];
  for (const { verb, users, of, most, option } of rules) {
    // In whole numbers: 57 / 100 * 100 is less than 57.
    if (users * 100 <= of * most) continue;
    // Rounded up, so that what is shown is enough as a limit.
    const percent = Math.ceil((users * 100) / of);
    const had = verb === 'gain' ? `${users} users and has ${of}` : `${users} of ${of} users`;
    return `${name} would ${verb} ${had} (${percent} %), allowed: ${most} %; nothing was sent. If that is right, use --${option} ${percent}`;
  }
  return undefined;
}
