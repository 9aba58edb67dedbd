import type { DuckDBValue } from '@duckdb/node-api';
import { reachingBack } from './attempt-queries.ts';
import type { OpenIndex } from './index.ts';

/** A name under which events came to destinations, and the last of these. */
export interface SeenName {
  readonly type: string;
  /** Null: events of this type have none. */
  readonly name: string | null;
  readonly atMs: number;
  readonly messageId: string;
  /** The word of its destination. */
  readonly destination: string;
}

/** Lines that are looked through. A page of attempts looks through as many where few of them fail. */
const mostLines = 5_000;
const mostNames = 200;

/**
 * The names of the events that came last to some destinations, the newest first.
 * @param destinations their words
 */
export async function namesSeen(
  index: OpenIndex,
  destinations: readonly string[],
): Promise<readonly SeenName[]> {
  const { database, words } = index;
  const numbers = destinations.map((each) => words.find(each)).filter((each) => each !== undefined);
  if (numbers.length === 0) return [];
  const own = `destination in (${numbers.join(', ')})`;
  const values: Readonly<Record<string, DuckDBValue>> = {};
  const reachMs = await reachingBack(index, [own], values, undefined, mostLines);
  const rows = await database.rows<{
    type: number;
    name: string | null;
    atMs: number;
    messageId: string;
    destination: number;
  }>(
    `select type, event_name as name, max(at_ms)::double as "atMs",
       arg_max(message, at_ms) as "messageId", arg_max(destination, at_ms) as destination
     from attempts where ${own} and at_ms >= ${reachMs} and message is not null
     group by type, event_name order by 3 desc, 1, 2 limit ${mostNames}`,
    values,
  );
  return rows.map(({ type, destination, ...row }) => ({
    ...row,
    type: words.of(type),
    destination: words.of(destination),
  }));
}
