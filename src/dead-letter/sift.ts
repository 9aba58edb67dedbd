import { counted, printable } from '../printable.ts';
import type { Letter } from './letter.ts';
import type { Redrives } from './redrives.ts';

/** Why a letter is not sent again. */
export interface Objection {
  /** The same text for all letters of its kind. */
  readonly why: string;
  /** The difference between letters with the same objection: a destination, a reason. */
  readonly name?: string;
  /** The action of an operator that removes it. */
  readonly remedy?: string;
}

export type Judge<L extends Letter> = (
  letter: L,
) => Objection | undefined | Promise<Objection | undefined>;

/** Yields letters that no judge objects to. The others go to `onLeftOut` with the first objection. */
export async function* sift<L extends Letter>(
  letters: AsyncIterable<L>,
  judges: readonly Judge<L>[],
  onLeftOut: (objection: Objection, letter: L) => void,
): AsyncGenerator<L, void, undefined> {
  for await (const letter of letters) {
    const objection = await firstObjection(letter, judges);
    if (objection === undefined) yield letter;
    else onLeftOut(objection, letter);
  }
}

/**
 * Objects to letters that were sent again before, or, with `againMs`, since that time. Epoch milliseconds.
 * @param remedy that sends them nevertheless
 */
export function sentBefore(
  redrives: Pick<Redrives, 'timeMsOf'>,
  againMs: number | undefined,
  remedy?: string,
): Judge<Letter> {
  return ({ record }) => {
    const lastMs = redrives.timeMsOf(record);
    if (lastMs === undefined) return undefined;
    if (againMs === undefined)
      return { why: 'sent again before', ...(remedy === undefined ? {} : { remedy }) };
    return lastMs < againMs
      ? undefined
      : { why: `sent again since ${new Date(againMs).toISOString()}` };
  };
}

async function firstObjection<L extends Letter>(
  letter: L,
  judges: readonly Judge<L>[],
): Promise<Objection | undefined> {
  for (const judge of judges) {
    const objection = await judge(letter);
    if (objection !== undefined) return objection;
  }
  return undefined;
}

const shownNames = 10;

/** The letters that were not sent again, and why. */
export class LeftOut {
  readonly #noun: string;
  /** By why. */
  readonly #sorts = new Map<string, Sort>();

  constructor(noun: string) {
    this.#noun = noun;
  }

  get isEmpty(): boolean {
    return this.#sorts.size === 0;
  }

  add({ why, name, remedy }: Objection): void {
    const sort: Sort = this.#sorts.get(why) ?? { remedy, count: 0, byName: new Map() };
    this.#sorts.set(why, sort);
    sort.count += 1;
    if (name !== undefined) sort.byName.set(name, (sort.byName.get(name) ?? 0) + 1);
  }

  /** One sentence for each reason. */
  sentences(): string[] {
    return [...this.#sorts].map(([why, { count, byName, remedy }]) => {
      const after = remedy === undefined ? '' : `; ${remedy}`;
      return `${counted(count, this.#noun)} left out, ${why}${listOf(byName)}${after}`;
    });
  }
}

interface Sort {
  readonly remedy: string | undefined;
  count: number;
  readonly byName: Map<string, number>;
}

function listOf(byName: ReadonlyMap<string, number>): string {
  if (byName.size === 0) return '';
  const shown = [...byName]
    .slice(0, shownNames)
    .map(([name, count]) => `${count} ${printable(name)}`);
  const more = byName.size > shownNames ? `, and ${byName.size - shownNames} more` : '';
  return `: ${shown.join(', ')}${more}`;
}
