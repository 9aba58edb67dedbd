import assert from 'node:assert/strict';
import { copyFile, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadState, saveState, type LoadedState } from '../../src/audience/checkpoint.ts';
import { openDatabase } from '../../src/audience/database.ts';

const subject = {
  name: 'audience-members of 1, Audience vip/shop/vip',
  topicId: 'any',
  ends: new Map([[0, 1]]),
  nowMs: 1,
  maxAgeMs: 1,
};

/** So many that each column has blocks of its own. */
const rows = 100_000;

/** Of a DuckDB file: its headers come before its blocks. */
const headerBytes = 3 * 4_096;
const blockBytes = 262_144;

test('a checkpoint with one damaged block is not used, whichever column the block belongs to', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-checkpoint-'));
  t.after(() => rm(folder, { recursive: true }));
  const sound = join(folder, 'sound.duckdb');
  await keepCheckpoint(folder, sound);
  assert.equal((await load(folder, sound)).rebuilt, undefined);
  const columns = await ownBlocks(folder, sound);
  assert.deepEqual([...columns.keys()].sort(), [
    'everyone.part',
    'everyone.value',
    'members.since_ms',
    'members.user_id',
    'members.value',
  ]);
  const damaged = join(folder, 'damaged.duckdb');
  for (const [column, block] of columns) {
    await copyFile(sound, damaged);
    await flipBit(damaged, headerBytes + block * blockBytes + blockBytes / 2);
    const { positions, rebuilt } = await load(folder, damaged);
    assert.deepEqual([rebuilt, positions.size], ['the checkpoint is damaged', 0], column);
  }
});

async function keepCheckpoint(folder: string, checkpoint: string): Promise<void> {
  const database = await openDatabase(':memory:', folder);
  const { connection } = database;
  const copy = join(folder, 'first.duckdb');
  await loadState(connection, undefined, copy, subject);
  await connection.run(`
    create table deletions (user_id varchar, time_ms double);
    insert into state.members
      select md5('u' || n), md5('v' || n), hash(n)::double from range(${rows}) t(n);
    insert into state.everyone
      select (hash(n) % 2000000000)::integer, md5('e' || n) from range(${rows}) t(n)`);
  await saveState(connection, checkpoint, copy, subject, 1);
  database.close();
}

async function load(folder: string, checkpoint: string): Promise<LoadedState> {
  const database = await openDatabase(':memory:', folder);
  try {
    const copy = join(folder, 'copy.duckdb');
    return await loadState(database.connection, checkpoint, copy, subject);
  } finally {
    database.close();
  }
}

/** By column: the number of a block that holds nothing of other columns. */
async function ownBlocks(folder: string, file: string): Promise<Map<string, number>> {
  const database = await openDatabase(file, folder, [], 'READ_ONLY');
  const segments = ['about', 'positions', 'members', 'everyone'].map(
    (table) =>
      `select '${table}.' || column_name as name, block_id from pragma_storage_info('${table}')`,
  );
  const reader = await database.connection.runAndReadAll(`
    select min(name), block_id::integer from (${segments.join(' union all ')})
    where block_id >= 0 group by block_id having count(distinct name) = 1`);
  database.close();
  return new Map(reader.getRows().map(([name, block]) => [String(name), Number(block)]));
}

async function flipBit(file: string, at: number): Promise<void> {
  const handle = await open(file, 'r+');
  const byte = Buffer.alloc(1);
  await handle.read(byte, 0, 1, at);
  byte[0] = (byte[0] ?? 0) ^ 1;
  await handle.write(byte, 0, 1, at);
  await handle.close();
}
