import type { IndexDatabase } from './database.ts';
import { bucketMs, letterKinds, wordColumns } from './schema.ts';

/** The limits of the file. */
export interface Bounds {
  readonly attemptsMs: number;
  readonly lettersMs: number;
  readonly rejectedMs: number;
  /** Size of the file. Beyond it the oldest attempts go first. */
  readonly bytes: number;
}

const dayMs = 86_400_000;

/** By age as long as their topics; 8 GB hold about 200 million attempts. */
export const usualBounds: Bounds = {
  attemptsMs: 3 * dayMs,
  lettersMs: 30 * dayMs,
  rejectedMs: 14 * dayMs,
  bytes: 8 * 1024 * 1024 * 1024,
};

/** The share of the attempts that goes when the file is too large. */
const shareGone = 0.05;

/** Removes what is too old, or too much. Its space is used again; the file does not shrink. */
export async function keepBounds(
  { writer }: IndexDatabase,
  bounds: Bounds,
  nowMs: number,
): Promise<void> {
  const attemptsFromMs = nowMs - bounds.attemptsMs;
  const one = async (sql: string): Promise<number> =>
    Number((await writer.runAndReadAll(sql)).getRows()[0]?.[0] ?? 0);
  const before = async (fromMs: number): Promise<void> => {
    await writer.run(`delete from attempts where at_ms < ${Math.floor(fromMs)}`);
    await writer.run(`delete from buckets where bucket < ${Math.floor(fromMs / bucketMs)}`);
  };
  await before(attemptsFromMs);
  await writer.run(`delete from dead_letters where at_ms < ${nowMs - bounds.lettersMs}`);
  await writer.run(`delete from rejected where at_ms < ${nowMs - bounds.rejectedMs}`);
  // Marks go with the letters that they are about.
  const { dead_letters: ofEvents, rejected: ofCalls } = letterKinds;
  await writer.run(
    `delete from sent_again where letter_ms < case kind when ${ofEvents} then ${nowMs - bounds.lettersMs}
       when ${ofCalls} then ${nowMs - bounds.rejectedMs} end`,
  );
  await writer.run('checkpoint');
  const usedBytes = await one('select used_blocks * block_size from pragma_database_size()');
  if (usedBytes <= bounds.bytes) return;
  const last = await one('select max(seq) from attempts');
  const first = await one('select min(seq) from attempts');
  const fromSeq = Math.floor(first + (last - first) * shareGone);
  await before(await one(`select max(at_ms) from attempts where seq <= ${fromSeq}`));
  // Letters too, if they are what takes the space.
  for (const table of ['dead_letters', 'rejected'])
    await writer.run(
      `delete from ${table} where at_ms < (select quantile_cont(at_ms, ${shareGone}) from ${table})`,
    );
  await writer.run(
    `delete from sent_again where letter_ms < (select quantile_cont(letter_ms, ${shareGone}) from sent_again)`,
  );
  await writer.run('checkpoint');
}

/**
 * Removes the words that no row uses.
 * @returns the numbers of the others
 */
export async function removeUnusedWords({ writer }: IndexDatabase): Promise<ReadonlySet<number>> {
  const used = wordColumns.flatMap(([table, columns]) =>
    columns.map((column) => `select ${column} as id from ${table} where ${column} is not null`),
  );
  await writer.run(`delete from words where id not in (${used.join(' union ')})`);
  const kept = await writer.runAndReadAll('select id from words');
  return new Set(kept.getRows().map(([id]) => Number(id)));
}
