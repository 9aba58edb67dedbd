import type { Finding } from './find.ts';

/** Why nothing finds a mutant. */
export interface Reason {
  /** `equivalent`: nobody can see a difference. `accepted`: there is one, and nothing looks for it. */
  readonly kind: 'equivalent' | 'accepted';
  readonly why: string;
}

const reasons: Readonly<Record<string, Reason>> = {
  'src/delivery/bundle/bundle.ts Bundle.of: bytes === undefined → false': {
    kind: 'equivalent',
    why: 'A header that is missing is taken for one that cannot be parsed, and is no bundle either way.',
  },
  'src/kafka/consume/group-level.ts GroupLevel.#look: this.#isStopped → true (2)': {
    kind: 'accepted',
    why: 'The group is looked at once only, so the oldest format stays in use. The brokers of the tests answer no such question yet.',
  },
};

/** @param id of a mutant */
export function reasonOf(id: string): Reason | undefined {
  return reasons[id];
}

/** Ids of mutants that have a reason and are found. */
export function unusedReasons(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ by, mutant }) => by !== 'nothing' && reasonOf(mutant.id) !== undefined)
    .map(({ mutant }) => mutant.id);
}
