import type { DuckDBValue } from '@duckdb/node-api';
import { idIn } from '../../event/uid.ts';
import type { OpenIndex } from './index.ts';
import { letterKinds, type LetterRow } from './schema.ts';

export type LetterTable = keyof typeof letterKinds;

export interface LetterQuestion {
  /** The word of a destination or of a source, which is empty where none is known. */
  readonly whose?: string | undefined;
  /** All destinations with this id: the present one and earlier ones. */
  readonly id?: string | undefined;
  /** Also `http-4xx`. */
  readonly reason?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly before?: LetterPlace | undefined;
  readonly limit: number;
}

export interface LetterPlace {
  readonly atMs: number;
  readonly partition: number;
  readonly offset: number;
}

export interface FoundLetters {
  readonly rows: readonly LetterRow[];
  readonly next: LetterPlace | undefined;
}

/** The newest first. */
export async function findLetters(
  { database, words }: OpenIndex,
  table: LetterTable,
  { whose, id, reason, sinceMs, before, limit }: LetterQuestion,
): Promise<FoundLetters> {
  const where = ['true'];
  const values: Record<string, DuckDBValue> = { limit: limit + 1 };
  const oneOf = (column: string, numbers: readonly (number | undefined)[]): void => {
    const known = numbers.filter((each) => each !== undefined);
    where.push(known.length === 0 ? 'false' : `${column} in (${known.join(', ')})`);
  };
  if (whose !== undefined) oneOf('whose', [words.find(whose)]);
  if (id !== undefined) oneOf('whose', words.ofId(id));
  if (reason !== undefined)
    oneOf(
      'reason',
      reasonsOf(reason).map((each) => words.find(each)),
    );
  if (sinceMs !== undefined) where.push(`at_ms >= ${sinceMs}`);
  if (before !== undefined) {
    const { atMs, partition, offset } = before;
    where.push(`(at_ms, part, pos) < (${atMs}, ${partition}, ${offset})`);
  }
  const rows = await database.rows<LetterRow>(
    `select part as partition, pos::double as "offset", at_ms::double as "atMs", whose, reason, rest
     from ${table} where ${where.join(' and ')} order by at_ms desc, part desc, pos desc limit $limit`,
    values,
  );
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), next: last };
}

export interface LetterCount {
  readonly whose: string;
  readonly reason: string;
  readonly day: string;
  readonly count: number;
  /** Letters that were never sent again. */
  readonly open: number;
}

const dayMs = 86_400_000;
/** Thirty days of many destinations; the largest first. */
const mostCounts = 2_000;

export async function countLetters(
  { database, words }: OpenIndex,
  table: LetterTable,
  sinceMs: number,
): Promise<readonly LetterCount[]> {
  const rows = await database.rows<{
    whose: number;
    reason: number;
    day: number;
    count: number;
    open: number;
  }>(
    `${withKnown(table)}
     select whose, reason, (at_ms // ${dayMs})::integer as day, count(*)::integer as count,
       count(*) filter (where known.pos is null)::integer as open
     from ${joinedKnown(table)}
     where at_ms >= ${sinceMs} group by all order by count desc, day desc, whose limit ${mostCounts}`,
  );
  return rows.map(({ whose, reason, day, count, open }) => ({
    whose: idIn(words.of(whose)),
    reason: words.of(reason),
    day: new Date(day * dayMs).toISOString().slice(0, 'yyyy-mm-dd'.length),
    count,
    open,
  }));
}

/** By `identityText`. */
export async function deadLettersSince(
  { database, words }: OpenIndex,
  sinceMs: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await database.rows<{ whose: number; count: number }>(
    `select whose, count(*)::integer as count from dead_letters where at_ms >= ${sinceMs} group by whose`,
  );
  return new Map(rows.map(({ whose, count }) => [words.of(whose), count]));
}

/** Dead letters that were never sent again, of all that are known, by `identityText`. */
export async function openDeadLetters({
  database,
  words,
}: Pick<OpenIndex, 'database' | 'words'>): Promise<ReadonlyMap<string, number>> {
  const rows = await database.rows<{ whose: number; count: number }>(
    `${withKnown('dead_letters')} select whose, count(*)::integer as count
     from ${joinedKnown('dead_letters')} where known.pos is null group by whose`,
  );
  return new Map(rows.map(({ whose, count }) => [words.of(whose), count]));
}

/** Letters that were sent again. */
function withKnown(table: LetterTable): string {
  return `with known as (select distinct part, pos, letter_ms from sent_again where kind = ${letterKinds[table]})`;
}

/** A letter that was never sent again has no `known.pos`. */
function joinedKnown(table: LetterTable): string {
  return `${table} left join known
    on ${table}.part = known.part and ${table}.pos = known.pos and at_ms = known.letter_ms`;
}

export async function countSince(
  { database }: OpenIndex,
  table: LetterTable,
  sinceMs: number,
): Promise<number> {
  const [row] = await database.rows<{ count: number }>(
    `select count(*)::integer as count from ${table} where at_ms >= ${sinceMs}`,
  );
  return row?.count ?? 0;
}

function reasonsOf(reason: string): readonly string[] {
  const hundreds = /^http-([1-9])xx$/.exec(reason)?.[1];
  if (hundreds === undefined) return [reason];
  return Array.from({ length: 100 }, (_, rest) => `http-${Number(hundreds) * 100 + rest}`);
}
