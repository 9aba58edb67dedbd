import type { AudienceLimits } from '../resources/resource.ts';
import type { Difference, SyncTarget } from './changes.ts';

/** The limits of a change, in percent of the previous users, and what was confirmed. */
export interface SafetyLimits extends Required<AudienceLimits> {
  /** True if an audience may become empty. */
  readonly allowEmpty: boolean;
}

export const defaultLimits: Required<AudienceLimits> = {
  maxRemoved: 20,
  maxChanged: 20,
  maxAdded: 100,
};

/**
 * Why a sync must not continue, because its data is probably broken; undefined if nothing is wrong. One
 * sentence that ends with how to continue anyway.
 * @param expected the number of users that an interrupted sync would have left: sending the rest of them is
 * expected
 */
export function objectionTo(
  target: Pick<SyncTarget, 'kind' | 'id'>,
  found: Difference,
  limits: SafetyLimits,
  expected: number = 0,
): string | undefined {
  const { members, before, added, removed, changedAlike } = found;
  if (before === 0 && expected === 0) return undefined;
  const name = `${target.kind} ${target.id}`;
  if (members === 0) {
    if (before === 0 || limits.allowEmpty) return undefined;
    return `the data of ${name} has no users, and had ${before} before; nothing was sent. If that is right, use --allow-empty`;
  }
  const unsent = Math.max(0, expected - before);
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
      verb: 'add',
      users: Math.max(0, added - unsent),
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
    const had = verb === 'add' ? `${users} users to ${of}` : `${users} of ${of} users`;
    return `${name} would ${verb} ${had} (${percent} %), allowed: ${most} %; nothing was sent. If that is right, use --${option} ${percent}`;
  }
  return undefined;
}
