import { isUtf8 } from 'node:buffer';
import type { IncomingRecord } from '../kafka/record.ts';
import { formatTable } from '../resources/table.ts';
import { placeOf, redriveKey, type Letter } from './letter.ts';
import type { Redrives } from './redrives.ts';

export const letterFormats = ['table', 'json'] as const;
export type LetterFormat = (typeof letterFormats)[number];

/** Longer keys and details are cut in the table; `show` has them whole. */
const shownCharacters = 60;

export function presentLetters(
  letters: readonly Letter[],
  redrives: Redrives,
  format: LetterFormat,
): string {
  switch (format) {
    case 'json':
      return JSON.stringify(
        letters.map((letter) => summaryOf(letter, redrives)),
        null,
        2,
      );
    case 'table':
      return formatTable(
        ['PLACE', 'TIME', 'REASON', 'KEY', 'SENT AGAIN', 'DETAIL'],
        letters.map((letter) => rowOf(letter, redrives)),
      );
  }
}

/** One letter as a whole. Write keys are shown: they are no secrets here, and name the missing source. */
export function presentLetter(letter: Letter, redrives: Redrives): string {
  const { record, reason, detail, origin } = letter;
  const lines = [
    ['place', placeOf(letter)],
    ['time', timeText(record.timestampMs)],
    ['reason', reason],
    ['detail', printable(detail)],
    ['origin', `${origin.topic} ${origin.partition}:${origin.offset}`],
    ['origin time', timeText(origin.appendTimeMs)],
    ['sent again', redrives.get(redriveKey(letter))?.time ?? '-'],
    ['key', bytesText(record.key)],
    ...Object.entries(record.headers).map(([name, value]) => [
      `header ${printable(name)}`,
      bytesText(value ?? null),
    ]),
  ];
  const width = Math.max(...lines.map(([name = '']) => name.length));
  const head = lines.map(([name = '', text = '']) => `${name.padEnd(width)}  ${text}`);
  return [...head, '', bytesText(record.value)].join('\n');
}

/** How many of each reason, the most frequent first. */
export function presentCounts(counts: ReadonlyMap<string, number>): string {
  const rows = [...counts].sort(([, a], [, b]) => b - a);
  return formatTable(
    ['REASON', 'CALLS'],
    rows.map(([reason, count]) => [printable(reason), String(count)]),
  );
}

/**
 * Producers decide what is in a record, and a terminal obeys some of it: control characters, and those
 * that turn the direction of writing, are shown as their code points.
 */
function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

function summaryOf(letter: Letter, redrives: Redrives): object {
  const { record, reason, detail, origin } = letter;
  return {
    partition: record.partition,
    offset: record.offset,
    time: timeText(record.timestampMs),
    reason,
    detail,
    key: keyText(record),
    sentAgain: redrives.get(redriveKey(letter))?.time ?? null,
    origin: {
      topic: origin.topic,
      partition: origin.partition,
      offset: origin.offset,
      time: timeText(origin.appendTimeMs),
    },
  };
}

function rowOf(letter: Letter, redrives: Redrives): readonly string[] {
  const { record, reason, detail } = letter;
  return [
    placeOf(letter),
    timeText(record.timestampMs),
    printable(reason),
    cut(printable(keyText(record) ?? '')),
    redrives.get(redriveKey(letter))?.time ?? '',
    cut(printable(detail)),
  ];
}

function keyText({ key }: IncomingRecord): string | null {
  return key === null ? null : key.toString();
}

function bytesText(bytes: Buffer | null): string {
  if (bytes === null) return '-';
  return isUtf8(bytes)
    ? printable(bytes.toString())
    : `${bytes.length} bytes that are no text, in base64: ${bytes.toString('base64')}`;
}

function cut(text: string): string {
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters - 1)}…`;
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
