import type { Letter } from './letter.ts';
import type { Redrives } from './redrives.ts';

/** Why a letter is not sent again. */
export interface Objection {
  /** The same for all letters of its sort. */
  readonly why: string;
  /** What it is about, of several that have the same objection: a destination, a reason. */
  readonly name?: string;
  /** What an operator can do about it. */
  readonly remedy?: string;
}

export type Judge<L extends Letter> = (
  letter: L,
) => Objection | undefined | Promise<Objection | undefined>;

/** Those that no judge objects to; the others go to `onLeftOut`, with the first objection. */
export async function* sift<L extends Letter>(
  letters: AsyncIterable<L>,
  judges: readonly Judge<L>[],
  onLeftOut: (objection: Objection) => void,
): AsyncGenerator<L, void, undefined> {
  for await (const letter of letters) {
    const objection = await firstObjection(letter, judges);
    if (objection === undefined) yield letter;
    else onLeftOut(objection);
  }
}

/** Objects to letters that were sent again before, from `againMs` on where that is given. Epoch milliseconds. */
export function sentBefore(redrives: Redrives, againMs: number | undefined): Judge<Letter> {
  return (letter) => {
    const last = redrives.of(letter);
    if (last === undefined) return undefined;
    if (againMs === undefined)
      return { why: 'sent again before', remedy: '--again takes them too' };
    return Date.parse(last.time) < againMs
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
