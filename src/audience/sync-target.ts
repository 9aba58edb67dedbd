import type { SaidTrait } from '../resources/audiences/told.ts';

/** The part of an audience or a computed trait that a sync needs. */
export interface SyncTarget extends SaidTrait {
  readonly id: string;
}

/** The change of one user: the new value of the trait, as JSON text. */
export interface Change {
  readonly userId: string;
  /** Null: the user is no longer in the data. */
  readonly value: string | null;
  /** The value that was sent last; null: none, or the user had left. */
  readonly was: string | null;
  /** The user was deleted since, so no call is made. Epoch milliseconds. */
  readonly deletedMs: number | undefined;
}

/** Kinds of changes in reports. `baseline`: unchanged, and sent again. `forgotten`: of a deleted user. */
export type ChangeKind = 'added' | 'removed' | 'changed' | 'baseline' | 'forgotten';

export function kindOf({ value, was, deletedMs }: Change): ChangeKind {
  if (deletedMs !== undefined) return 'forgotten';
  if (value === was) return 'baseline';
  if (value === null) return 'removed';
  return was === null ? 'added' : 'changed';
}
