import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Registry } from 'prom-client';
import { openIndexDatabase, type IndexDatabase } from '../../src/console/index/database.ts';
import { ConsoleMetrics } from '../../src/console/metrics.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { failIfHeld } from '../harness/held-database.ts';

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-index-'));
});

after(async () => {
  await rm(folder, { recursive: true });
});

function open(): Promise<IndexDatabase> {
  return openIndexDatabase(folder, {
    log: silentLogger,
    metrics: new ConsoleMetrics(new Registry()),
  });
}

const requireFree = (): void => {
  failIfHeld(join(folder, 'console.duckdb'));
};

test('an index that is closed is held by nobody, whatever was going on in it', async () => {
  const database = await open();
  const { writer } = database;
  assert.throws(requireFree, /lock/);
  await writer.run('begin; insert into facts values ($name, 1)', { name: 'unfinished' });
  const appender = await writer.createAppender('offsets');
  appender.appendVarchar('cut off');
  const long =
    'select count(*)::double as n from range(3000) a(x), range(3000) b(y) where x * y % 7 = 3';
  const reading = database.rows<{ n: number }>(long);
  await database.close();
  requireFree();
  assert.ok(((await reading)[0]?.n ?? 0) > 0);
  await assert.rejects(database.rows('select 1'), /closed/);

  const again = await open();
  assert.deepEqual(await again.rows("select * from facts where name = 'unfinished'"), []);
  await again.close();
});

test('an index that cannot be used is held by nobody once it was made again', async () => {
  const former = await open();
  await former.writer.run("update facts set value = value + 1 where name = 'schema'");
  await former.close();
  const database = await open();
  await database.close();
  requireFree();
  await writeFile(join(folder, 'console.duckdb'), 'no database');
  await (await open()).close();
  requireFree();
});
