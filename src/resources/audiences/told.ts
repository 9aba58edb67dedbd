import type { ToldTrait } from './record.ts';

/** The trait that an audience or computed trait has now. */
export interface SaidTrait {
  readonly kind: 'Audience' | 'ComputedTrait';
  readonly name: string;
  readonly source: string;
  readonly trait: string;
  /** Undefined: all of the source. */
  readonly destinations?: readonly string[] | undefined;
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
