/** What a sync needs to know of an audience or a computed trait. */
export interface SyncTarget {
  readonly kind: 'Audience' | 'ComputedTrait';
  readonly id: string;
  readonly name: string;
  readonly trait: string;
  readonly source: string;
  /** Undefined: all of the source. */
  readonly destinations?: readonly string[];
}

/** Of one user: what the trait becomes, as JSON text. */
export interface Change {
  readonly userId: string;
  /** Null: not in the source of the data any more. */
  readonly value: string | null;
  /** What was emitted before; null: nothing, or the user had left. */
  readonly was: string | null;
}

/** What a change is, in reports. `baseline`: the same as before, told to a new destination. */
export type ChangeKind = 'added' | 'removed' | 'changed' | 'baseline';

export function kindOf({ value, was }: Change): ChangeKind {
  if (value === was) return 'baseline';
  if (value === null) return 'removed';
  return was === null ? 'added' : 'changed';
}
