import { printable } from '../../printable.ts';
import type { Objection } from '../../dead-letter/sift.ts';
import { counted } from '../terminal/counted.ts';

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
