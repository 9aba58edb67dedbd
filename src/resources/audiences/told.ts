import type { ToldTrait } from './record.ts';

/** What an audience or computed trait says now. */
export interface SaidTrait {
  readonly kind: 'Audience' | 'ComputedTrait';
  readonly name: string;
  readonly source: string;
  readonly trait: string;
  /** Undefined: all of the source. */
  readonly destinations?: readonly string[] | undefined;
}

/** Membership belongs to a trait of a source: another one is another thing to tell. */
export function isSameTrait(
  one: Pick<SaidTrait, 'kind' | 'source' | 'trait'>,
  other: Pick<SaidTrait, 'kind' | 'source' | 'trait'>,
): boolean {
  return one.kind === other.kind && one.source === other.source && one.trait === other.trait;
}

/** What was told of the trait that is said now; undefined before its first sync. */
export function toldOf(told: readonly ToldTrait[], said: SaidTrait): ToldTrait | undefined {
  return told.find((each) => isSameTrait(each, said));
}

/** What is said no more, although users have it. */
export function formerTraits(told: readonly ToldTrait[], said: SaidTrait): readonly ToldTrait[] {
  return told.filter((each) => !isSameTrait(each, said));
}

/**
 * Where users have the trait although it goes there no more.
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

/** The record's traits with this one as it is now; one that nobody has any more and that has no name is gone. */
export function withTold(told: readonly ToldTrait[], now: ToldTrait): readonly ToldTrait[] {
  return [now, ...told.filter((each) => !isSameTrait(each, now))];
}
