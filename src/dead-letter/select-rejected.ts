import { isMendable } from '../event/rejection.ts';
import { writeKeyOf, type RejectedCall } from './rejected.ts';
import type { Objection } from './sift.ts';

/** Which rejected calls an operator selects. A condition that is not given holds for all. */
export interface RejectedSelection {
  readonly reasons?: ReadonlySet<string> | undefined;
  /** The record's key, which is the user's id unless the producer chose another. */
  readonly key?: string | undefined;
  /** Those of one source. */
  readonly writeKeys?: ReadonlySet<string> | undefined;
}

export function isSelectedCall(
  { record, reason }: RejectedCall,
  selection: RejectedSelection,
): boolean {
  const { reasons, key, writeKeys } = selection;
  if (reasons !== undefined && !reasons.has(reason)) return false;
  if (key !== undefined && record.key?.toString() !== key) return false;
  if (writeKeys === undefined) return true;
  const writeKey = writeKeyOf(record);
  return writeKey !== undefined && writeKeys.has(writeKey);
}

/** Objects to a call whose cause cannot be fixed. */
export function notMendable({ reason }: RejectedCall): Objection | undefined {
  if (isMendable(reason)) return undefined;
  return {
    why: 'because they are invalid and would be rejected again',
    name: reason,
    remedy: '--reason with their reason sends them anyway',
  };
}
