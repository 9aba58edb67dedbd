import { formatTable } from '../resources/table.ts';
import { placeText, type Letter } from './letter.ts';
import { printable, printableJson, timeText } from './printable.ts';
import type { Redrives } from './redrives.ts';

export const letterFormats = ['table', 'json'] as const;
export type LetterFormat = (typeof letterFormats)[number];

/** What one kind of letters has to show besides what all have. */
export interface LetterView<L extends Letter> {
  /** In the table, before the detail. */
  readonly columns: Readonly<Record<string, (letter: L) => string>>;
  /** In the list for programs. */
  summary(letter: L): object;
  /** What `show` says before the body. */
  facts(letter: L): readonly (readonly [name: string, text: string])[];
  body(letter: L): string;
  /** What letters are counted by. */
  readonly counted: Readonly<Record<string, (letter: L) => string>>;
}

/** Longer texts are cut in the table; `show` has them whole. */
const shownCharacters = 60;

export function presentLetters<L extends Letter>(
  letters: readonly L[],
  redrives: Redrives,
  format: LetterFormat,
  view: LetterView<L>,
): string {
  switch (format) {
    case 'json':
      return printableJson(letters.map((letter) => summaryOf(letter, redrives, view)));
    case 'table':
      return formatTable(
        ['PLACE', 'TIME', 'REASON', ...Object.keys(view.columns), 'SENT AGAIN', 'DETAIL'],
        letters.map((letter) => rowOf(letter, redrives, view)),
      );
  }
}

/** One letter as a whole. */
export function presentLetter<L extends Letter>(
  letter: L,
  redrives: Redrives,
  view: LetterView<L>,
): string {
  const { record, reason, detail } = letter;
  const facts = [
    ['place', placeText(record)],
    ['time', timeText(record.timestampMs)],
    ['reason', printable(reason)],
    ['detail', printable(detail)],
    ['sent again', redrives.of(letter)?.time ?? '-'],
    ...view.facts(letter),
  ] as const;
  const width = Math.max(...facts.map(([name]) => name.length));
  const head = facts.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
  return [...head, '', view.body(letter)].join('\n');
}

/** How many letters of each sort there were. */
export class LetterCounts<L extends Letter> {
  readonly #view: LetterView<L>;
  readonly #counts = new Map<string, number>();
  total = 0;

  constructor(view: LetterView<L>) {
    this.#view = view;
  }

  add(letter: L): void {
    const cells = Object.values(this.#view.counted).map((cell) => printable(cell(letter)));
    const key = JSON.stringify(cells);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.total += 1;
  }

  /** The most frequent first. */
  present(noun: string): string {
    const rows = [...this.#counts].sort(([, a], [, b]) => b - a);
    return formatTable(
      [...Object.keys(this.#view.counted), `${noun.toUpperCase()}S`],
      rows.map(([key, count]) => [...(JSON.parse(key) as string[]), String(count)]),
    );
  }
}

function summaryOf<L extends Letter>(letter: L, redrives: Redrives, view: LetterView<L>): object {
  const { record, reason, detail } = letter;
  return {
    partition: record.partition,
    offset: record.offset,
    time: timeText(record.timestampMs),
    reason,
    detail,
    sentAgain: redrives.of(letter)?.time ?? null,
    ...view.summary(letter),
  };
}

function rowOf<L extends Letter>(
  letter: L,
  redrives: Redrives,
  view: LetterView<L>,
): readonly string[] {
  const { record, reason, detail } = letter;
  return [
    placeText(record),
    timeText(record.timestampMs),
    printable(reason),
    ...Object.values(view.columns).map((cell) => cut(printable(cell(letter)))),
    redrives.of(letter)?.time ?? '',
    cut(printable(detail)),
  ];
}

function cut(text: string): string {
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters - 1)}…`;
}
