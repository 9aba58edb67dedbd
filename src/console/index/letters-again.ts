import { idIn } from '../../event/uid.ts';
import type { SentAgain } from '../api/model.ts';
import { deadLetter, delivered, dropped, hashOf } from './attempt-rows.ts';
import { deadLetterOf } from './letter-rows.ts';
import type { LetterTable } from './letter-queries.ts';
import type { OpenIndex } from './index.ts';
import { letterKinds, type LetterRow } from './schema.ts';

/** When letters were last sent again, by `placeKey`; epoch milliseconds. */
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

/** How far the clocks of workers may be apart from those of brokers. */
const clocksApartMs = 600_000;

interface AgainLine {
  readonly destination: number;
  readonly message: string;
  readonly user: string | null;
  readonly what: number;
  readonly redrivenAt: string;
}

/**
 * What became of dead letters that were sent again, by `placeKey`. An event that was delivered once is delivered;
 * otherwise the last time that it was sent counts. Attempts are kept for a shorter time than letters, so it may not be
 * known any more.
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
      : await database.rows<AgainLine>(
          `select destination, message, usr as "user", what,
             regexp_extract(rest, '"redrivenAt":"([^"]*)"', 1) as "redrivenAt"
           from attempts where message_hash in (${messages.map((id) => hashOf(keptId(id))).join(', ')})
             and at_ms >= ${oldestMs - clocksApartMs} and rest like '%"redrivenAt":"%'`,
        );
  const ofEvent = Map.groupBy(lines, ({ destination, message, user }) =>
    eventKey(idIn(words.of(destination)), message, user),
  );
  return new Map(
    again.map(({ row, sentMs, letter }) => {
      const { destination, messageId = '', user, redrivenAt: before = '' } = letter;
      const own = ofEvent.get(eventKey(destination, keptId(messageId), keptId(user))) ?? [];
      // The letter may itself be of an event that was sent again: then it is about what came after that.
      const since = own.filter(({ redrivenAt }) => redrivenAt > before);
      return [placeKey(row), { at: new Date(sentMs).toISOString(), became: becameOf(since) }];
    }),
  );
}

/** @param lines of one event, since it was sent again */
function becameOf(
  lines: readonly Pick<AgainLine, 'what' | 'redrivenAt'>[],
): NonNullable<SentAgain['became']> {
  if (lines.some(({ what }) => what === delivered)) return 'delivered';
  const lastAt = lines.reduce(
    (last, { redrivenAt }) => (redrivenAt > last ? redrivenAt : last),
    '',
  );
  const last = lines.filter(({ redrivenAt }) => redrivenAt === lastAt);
  if (last.some(({ what }) => what === deadLetter)) return 'dead-letter';
  if (last.some(({ what }) => what === dropped)) return 'dropped';
  return last.length > 0 ? 'waiting' : 'unknown';
}

function eventKey(destination: string, message: string, user: string | null): string {
  return JSON.stringify([destination, message, user]);
}

/** As rows of attempts have it. */
function keptId(id: string): string {
  return id.slice(0, 1_024).toWellFormed();
}
