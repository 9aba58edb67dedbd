import type { OpenIndex } from './index.ts';
import { deadLetter, delivered, dropped } from './attempt-rows.ts';

/** Events of a run, and what attempts say of them. */
export interface SentAgain {
  readonly delivered: number;
  readonly refused: number;
  readonly dropped: number;
  /** They were seen, and have not ended. */
  readonly waiting: number;
}

export interface RunSpan {
  /** Undefined: all. */
  readonly destinations: readonly string[] | undefined;
  /** When its events were sent, by the clock of the process that sent them. */
  readonly fromMs: number;
  readonly untilMs: number;
}

/** How far the clocks of workers may be apart from that of a run. */
const clocksApartMs = 600_000;

/** An event that was delivered once is delivered, in whatever order its lines came. */
export async function whatBecame(
  { database, words }: Pick<OpenIndex, 'database' | 'words'>,
  { destinations, fromMs, untilMs }: RunSpan,
): Promise<SentAgain> {
  const numbers = destinations?.flatMap((id) => words.ofId(id));
  const none = { delivered: 0, refused: 0, dropped: 0, waiting: 0 };
  if (numbers?.length === 0) return none;
  const whose = numbers === undefined ? 'true' : `destination in (${numbers.join(', ')})`;
  // Quotes within a text are escaped, so no answer of an endpoint can have the field's name with its quotes.
  const rows = await database.rows<{ end: keyof SentAgain; count: number }>(
    `with again as (
       select destination, message, usr, what from attempts
       where at_ms >= ${fromMs - clocksApartMs} and ${whose} and rest like '%"redrivenAt":"%'
         and regexp_extract(rest, '"redrivenAt":"([^"]*)"', 1) between $from and $until
     ), ended as (
       select case when bool_or(what = ${delivered}) then 'delivered' when bool_or(what = ${deadLetter}) then 'refused'
         when bool_or(what = ${dropped}) then 'dropped' else 'waiting' end as end_
       from again group by destination, message, usr
     ) select end_ as "end", count(*)::integer as count from ended group by end_`,
    { from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() },
  );
  return { ...none, ...Object.fromEntries(rows.map(({ end, count }) => [end, count])) };
}
