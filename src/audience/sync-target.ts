import type { SaidTrait } from '../resources/audiences/told.ts';

/** What a sync needs to know of an audience or a computed trait. */
export interface SyncTarget extends SaidTrait {
  readonly id: string;
}

/** Of one user: what the trait becomes, as JSON text. */
export interface Change {
  readonly userId: string;
  /** Null: not in the source of the data any more. */
  readonly value: string | null;
  /** What was emitted before; null: nothing, or the user had left. */
  readonly was: string | null;
  /** The user was deleted since: no call is made. Epoch milliseconds. */
  readonly deletedMs: number | undefined;
}

/** What a change is, in reports. `baseline`: the same as before, told again. `forgotten`: of a deleted user. */
export type ChangeKind = 'added' | 'removed' | 'changed' | 'baseline' | 'forgotten';

export function kindOf({ value, was, deletedMs }: Change): ChangeKind {
  if (deletedMs !== undefined) return 'forgotten';
  if (value === was) return 'baseline';
  if (value === null) return 'removed';
  return was === null ? 'added' : 'changed';
}
