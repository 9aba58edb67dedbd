import { endAgain } from '../../event/sent-again.ts';
import { idIn } from '../../event/uid.ts';
import type { SentAgain } from '../api/answers/events.ts';
import { deadLetter, delivered, dropped, hashOf, saysOf, storedText } from './attempt-rows.ts';
import { deadLetterOf } from './letter-rows.ts';
import type { LetterTable } from './letter-queries.ts';
import type { OpenIndex } from './index.ts';
import { letterKinds, type LetterRow } from './schema.ts';

/** The times at which letters were last sent again, by `placeKey`; epoch milliseconds. */
export async function sentAgainTimes(
  { database }: Pick<OpenIndex, 'database'>,
  table: LetterTable,
  letters: readonly LetterRow[],
): Promise<ReadonlyMap<string, number>> {
  if (letters.length === 0) return new Map();
  const places = letters.map(({ partition, offset, atMs }) => `(${partition}, ${offset}, ${atMs})`);
  const rows = await database.rows<Pick<LetterRow, 'partition' | 'offset'> & { sentMs: number }>(
    `select part as partition, pos::double as "offset", max(sent_ms)::double as "sentMs" from sent_again
     where kind = ${letterKinds[table]} and (part, pos, letter_ms) in (${places.join(', ')}) group by part, pos`,
  );
  return new Map(rows.map((row) => [placeKey(row), row.sentMs]));
}

export function placeKey({ partition, offset }: Pick<LetterRow, 'partition' | 'offset'>): string {
  return `${partition}:${offset}`;
}

/** The most by which clocks of workers may be apart from those of brokers, and of the processes that send. */
const clocksApartMs = 600_000;

// Quotes within a text are escaped, so no answer of an endpoint can have the field's name with its quotes.
const isRedrivenSql = `rest like '%"redrivenAt":"%'`;
const redrivenAtSql = `regexp_extract(rest, '"redrivenAt":"([^"]*)"', 1)`;

interface AgainRow {
  readonly destination: number;
  readonly message: string;
  readonly user: string | null;
  readonly what: number;
  readonly redrivenAt: string;
}

/**
 * The ends of dead letters that were sent again, by `placeKey`.
 */
export async function deadLettersAgain(
  open: Pick<OpenIndex, 'database' | 'words'>,
  letters: readonly LetterRow[],
): Promise<ReadonlyMap<string, SentAgain>> {
  const { database, words } = open;
  const times = await sentAgainTimes(open, 'dead_letters', letters);
  const again = letters.flatMap((row) => {
    const sentMs = times.get(placeKey(row));
    return sentMs === undefined ? [] : [{ row, sentMs, letter: deadLetterOf(row, words) }];
  });
  const messages = again.flatMap(({ letter: { messageId } }) => messageId ?? []);
  const oldestMs = Math.min(...again.map(({ row }) => row.atMs));
  const lines =
    messages.length === 0
      ? []
      : await database.rows<AgainRow>(
          `select destination, message, usr as "user", what,
             ${redrivenAtSql} as "redrivenAt"
           from attempts where message_hash in (${messages.map((id) => hashOf(storedText(id))).join(', ')})
             and at_ms >= ${oldestMs - clocksApartMs} and ${isRedrivenSql}`,
        );
  const ofEvent = Map.groupBy(lines, ({ destination, message, user }) =>
    eventKey(idIn(words.of(destination)), message, user),
  );
  return new Map(
    again.map(({ row, sentMs, letter }) => {
      const { destination, messageId = '', user, redrivenAt: before = '' } = letter;
      const own = ofEvent.get(eventKey(destination, storedText(messageId), storedText(user))) ?? [];
      const said = own.map(({ what, redrivenAt }) => ({ says: saysOf(what), redrivenAt }));
      return [
        placeKey(row),
        { at: new Date(sentMs).toISOString(), became: endAgain(said, before) },
      ];
    }),
  );
}

function eventKey(destination: string, message: string, user: string | null): string {
  return JSON.stringify([destination, message, user]);
}

/** The numbers of events of a run by how they ended, as far as attempts tell. */
export interface EndsOfRun {
  readonly delivered: number;
  readonly refused: number;
  readonly dropped: number;
  /** They were seen, and have not ended. */
  readonly waiting: number;
}

export interface RunSpan {
  /** Undefined: all. */
  readonly destinations: readonly string[] | undefined;
  /** The time in which its events were sent, by the clock of the process that sent them. */
  readonly fromMs: number;
  readonly untilMs: number;
}

/** An event that was delivered once is delivered, in whatever order its lines came. */
export async function whatBecame(
  { database, words }: Pick<OpenIndex, 'database' | 'words'>,
  { destinations, fromMs, untilMs }: RunSpan,
): Promise<EndsOfRun> {
  const numbers = destinations?.flatMap((id) => words.ofId(id));
  const none = { delivered: 0, refused: 0, dropped: 0, waiting: 0 };
  if (numbers?.length === 0) return none;
  const whose = numbers === undefined ? 'true' : `destination in (${numbers.join(', ')})`;
  const rows = await database.rows<{ end: keyof EndsOfRun; count: number }>(
    `with again as (
       select destination, message, usr, what from attempts
       where at_ms >= ${fromMs - clocksApartMs} and ${whose} and ${isRedrivenSql}
         and ${redrivenAtSql} between $from and $until
     ), ended as (
       select case when bool_or(what = ${delivered}) then 'delivered' when bool_or(what = ${deadLetter}) then 'refused'
         when bool_or(what = ${dropped}) then 'dropped' else 'waiting' end as end_
       from again group by destination, message, usr
     ) select end_ as "end", count(*)::integer as count from ended group by end_`,
    { from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() },
  );
  return { ...none, ...Object.fromEntries(rows.map(({ end, count }) => [end, count])) };
}
