import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabase, textColumns } from '../../src/audience/database.ts';
import { failIfHeld } from '../harness/held-database.ts';

test('a database whose columns were not read to their end is held by nobody once it is closed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-database-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'some.duckdb');
  const database = await openDatabase(file, folder);
  const { connection } = database;
  await connection.run(
    'create table numbers as select n::varchar as text from range(1000000) t(n)',
  );
  const columns = textColumns(connection, 'select text from numbers');
  // Which rows come first is not said.
  const [texts = []] = (await columns.next()).value ?? [];
  assert.ok(texts.length > 0 && texts.length < 1_000_000, `${texts.length} rows came at once`);
  await columns.return();
  database.close();
  failIfHeld(file);
});
