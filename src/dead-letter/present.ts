import type { EndAgain } from '../event/sent-again.ts';
import type { OutputFormat } from '../resources/present.ts';
import { formatTable } from '../resources/table.ts';
import { placeText, type Letter } from './letter.ts';
import { printable, printableJson } from '../printable.ts';
import { printableYaml } from '../printable-yaml.ts';
import { ageText, timeText } from './texts.ts';
import type { Redrives } from './redrives.ts';

type Columns<L extends Letter> = Readonly<Record<string, (letter: L) => string>>;

/** The parts of one kind of letters that others do not have. */
export interface LetterView<L extends Letter> {
  /** In the table, after place, age and reason. */
  readonly columns: Columns<L>;
  /** In the wide table, after these. */
  readonly wideColumns: Columns<L>;
  /** In the list for programs. */
  summary(letter: L): object;
  /** Shown by `show` before the body. */
  facts(letter: L): readonly (readonly [name: string, text: string])[];
  body(letter: L): string;
  /** Added by `show` to the summary for programs. */
  whole(letter: L): object;
  /** The groups by which letters are counted. */
  readonly counted: Readonly<Record<string, (letter: L) => string>>;
}

/** Longer texts are cut in the table; `show` has them whole. */
const shownCharacters = 60;

export function presentLetters<L extends Letter>(
  letters: readonly L[],
  redrives: Redrives,
  format: OutputFormat,
  view: LetterView<L>,
  nowMs: number = Date.now(),
): string {
  switch (format) {
    case 'json':
      return printableJson(letters.map((letter) => summaryOf(letter, redrives, view)));
    case 'yaml':
      return printableYaml(letters.map((letter) => summaryOf(letter, redrives, view)));
    case 'table': {
      const age: Columns<L> = { AGE: ({ record }) => ageText(record.timestampMs, nowMs) };
      const columns = { ...place, ...age, ...reason, ...view.columns };
      return tableOf(letters, columns, (text) => cut(printable(text)));
    }
    case 'wide': {
      const time: Columns<L> = { TIME: ({ record }) => timeText(record.timestampMs) };
      const sent: Columns<L> = { 'SENT AGAIN': ({ record }) => redrives.timeOf(record) ?? '' };
      const columns = {
        ...place,
        ...time,
        ...reason,
        ...view.columns,
        ...view.wideColumns,
        ...sent,
      };
      return tableOf(letters, columns, printable, Infinity);
    }
  }
}

const place: Columns<Letter> = { PLACE: ({ record }) => placeText(record) };
const reason: Columns<Letter> = { REASON: (letter) => letter.reason };

/**
 * One letter as a whole.
 * @param became how it ended, if it was sent again and that was looked for
 */
export function presentLetter<L extends Letter>(
  letter: L,
  redrives: Redrives,
  format: OutputFormat,
  view: LetterView<L>,
  became?: EndAgain,
): string {
  const whole = (): object => ({
    ...summaryOf(letter, redrives, view),
    ...(became === undefined ? undefined : { became }),
    ...view.whole(letter),
  });
  switch (format) {
    case 'json':
      return printableJson(whole());
    case 'yaml':
      return printableYaml(whole());
    case 'table':
    case 'wide':
      return textOf(letter, redrives, view, became);
  }
}

const ends: Readonly<Record<EndAgain, string>> = {
  delivered: 'delivered then',
  'dead-letter': 'a dead letter again',
  dropped: 'dropped, because its user was deleted',
  waiting: 'it has not ended yet',
  unknown: 'nothing is known of it any more',
};

function textOf<L extends Letter>(
  letter: L,
  redrives: Redrives,
  view: LetterView<L>,
  became: EndAgain | undefined,
): string {
  const { record, reason, detail } = letter;
  const facts = [
    ['place', placeText(record)],
    ['time', timeText(record.timestampMs)],
    ['reason', printable(reason)],
    ['detail', printable(detail)],
    ['sent again', `${redrives.timeOf(record) ?? '-'}${became ? `, ${ends[became]}` : ''}`],
    ...view.facts(letter),
  ] as const;
  const width = Math.max(...facts.map(([name]) => name.length));
  const head = facts.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
  return [...head, '', view.body(letter)].join('\n');
}

/** Number of letters in each group. */
export class LetterCounts<L extends Letter> {
  readonly #view: LetterView<L>;
  readonly #counts = new Map<string, number>();
  total = 0;

  constructor(view: LetterView<L>) {
    this.#view = view;
  }

  add(letter: L): void {
    const cells = Object.values(this.#view.counted).map((cell) => cell(letter));
    const key = JSON.stringify(cells);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.total += 1;
  }

  /** For people; the most frequent first. */
  present(noun: string): string {
    return formatTable(
      [...Object.keys(this.#view.counted), `${noun.toUpperCase()}S`],
      this.#sorted().map(([cells, count]) => [...cells, String(count)]),
    );
  }

  /** For programs. */
  rows(): object[] {
    const names = Object.keys(this.#view.counted).map((name) => name.toLowerCase());
    return this.#sorted().map(([cells, count]) => ({
      ...Object.fromEntries(names.map((name, index) => [name, cells[index]])),
      count,
    }));
  }

  #sorted(): (readonly [cells: readonly string[], count: number])[] {
    return [...this.#counts]
      .sort(([, a], [, b]) => b - a)
      .map(([key, count]) => [JSON.parse(key) as string[], count]);
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
    sentAgain: redrives.timeOf(record) ?? null,
    ...view.summary(letter),
  };
}

function tableOf<L extends Letter>(
  letters: readonly L[],
  columns: Columns<L>,
  shown: (text: string) => string,
  width?: number,
): string {
  const rows = letters.map((letter) => Object.values(columns).map((cell) => shown(cell(letter))));
  return formatTable(Object.keys(columns), rows, width);
}

function cut(text: string): string {
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters - 1)}…`;
}
