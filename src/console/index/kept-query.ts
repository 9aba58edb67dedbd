import { kept } from './attempt-rows.ts';
import type { OpenIndex } from './index.ts';

/**
 * Events that were kept for paused destinations, by their `identityText`.
 * @param since when each was paused, in epoch milliseconds, by the same
 */
export async function keptSince(
  { database, words }: Pick<OpenIndex, 'database' | 'words'>,
  since: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const paused = Array.from(since).flatMap(([word, sinceMs]) => {
    const id = words.find(word);
    return id === undefined ? [] : [`(${id}, ${sinceMs})`];
  });
  if (paused.length === 0) return new Map();
  // One event may be kept by two workers when a partition moves.
  const rows = await database.rows<{ destination: number; count: number }>(
    `select destination, count(distinct (message, usr))::integer as count
     from attempts join (values ${paused.join(', ')}) as paused(id, since_ms) on destination = id
     where what = ${kept} and at_ms >= since_ms group by destination`,
  );
  return new Map(rows.map(({ destination, count }) => [words.of(destination), count]));
}
