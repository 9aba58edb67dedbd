import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Registry } from 'prom-client';
import {
  isUnusable,
  openIndexDatabase,
  type IndexDatabase,
} from '../../src/console/index/database.ts';
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

test('a block that was damaged on the disk makes the index again', async () => {
  const file = join(folder, 'console.duckdb');
  const former = await open();
  await former.writer.run("insert into facts values ('kept', 1); checkpoint");
  await former.close();
  const bytes = await readFile(file);
  // The blocks follow three headers of 4 KB each.
  for (let at = 12_288 + 100; at < bytes.length; at += 262_144) bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(file, bytes);
  const database = await open();
  assert.deepEqual(await database.rows("select * from facts where name = 'kept'"), []);
  await database.close();
});

test('a file of another program is made again', async () => {
  const former = await open();
  await former.writer.run('drop table facts');
  await former.close();
  const database = await open();
  assert.equal((await database.rows('select * from facts')).length, 2);
  await database.close();
});

test('what stands in the way of the file is left, and told with the setting', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'postrider-corrupt-checksum-'));
  t.after(() => rm(dir, { recursive: true }));
  const others = join(dir, 'console.duckdb', 'of-somebody-else');
  await mkdir(join(dir, 'console.duckdb'));
  await writeFile(others, 'kept');
  const opening = openIndexDatabase(dir, {
    log: silentLogger,
    metrics: new ConsoleMetrics(new Registry()),
  });
  await assert.rejects(opening, {
    code: 'setting-invalid',
    message:
      /^CONSOLE_DATA_DIR is .*, whose index cannot be opened \(IO Error: .*: Is a directory\)/,
  });
  assert.equal(await readFile(others, 'utf8'), 'kept');
});

test('an error about a query or its values does not cost the index', async () => {
  const database = await open();
  const failing: [sql: string, says: RegExp][] = [
    ["select cast('a fatal word' as integer)", /^Conversion Error: .*fatal/],
    ["select error('its checksum, an io error')", /^Invalid Input Error: .*checksum/],
    ['select * from nothing', /^Catalog Error: .*does not exist/],
    ['select corrupt from facts', /^Binder Error: .*corrupt/],
  ];
  for (const [sql, says] of failing) {
    const error: unknown = await database.rows(sql).catch((reason: unknown) => reason);
    assert.match((error as Error).message, says);
    assert.equal(isUnusable(error), false, sql);
  }
  await database.close();
});

/** As DuckDB 1.5 words them. */
const file = '"/data/corrupt/console.duckdb"';
const invalidated =
  'FATAL Error: Failed: database has been invalidated because of a previous fatal error. The database must be restarted prior to being used again.\nOriginal error: ';
for (const [says, unusable] of [
  [
    'IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2 in block at location 0',
    true,
  ],
  [
    `IO Error: Failure while replaying WAL file ${file}: Corrupt WAL file: entry at byte position 24 computed checksum 1 does not match stored checksum 2`,
    true,
  ],
  [`IO Error: The file ${file} exists, but it is not a valid DuckDB database file!`, true],
  [
    `IO Error: Could not read enough bytes from file ${file}: attempted to read 3996 bytes from location 100`,
    true,
  ],
  [
    'IO Error: Trying to read a database file with version number 99, but we can only read versions between 64 and 67.',
    true,
  ],
  [`IO Error: Could not read from file ${file}: Input/output error`, true],
  ['Serialization Error: Failed to deserialize: expected end of object', true],
  ['INTERNAL Error: Attempted to dereference unique_ptr that is NULL!', true],
  [`${invalidated}"Corrupted ART index"`, true],
  [
    `${invalidated}"Failed to create checkpoint because of error: Could not write file ${file}: No space left on device"`,
    false,
  ],
  [
    `FATAL Error: Failed to create checkpoint because of error: Could not write file ${file}: Disk quota exceeded`,
    false,
  ],
  [
    `TransactionContext Error: Failed to commit: Could not write file ${file}: File too large`,
    false,
  ],
  [`IO Error: Could not write file ${file}: No space left on device`, false],
  [`IO Error: Cannot open file ${file}: Too many open files`, false],
  [`IO Error: Cannot open file ${file}: Permission denied`, false],
  [`IO Error: Cannot open file ${file}: Read-only file system`, false],
  ['Out of Memory Error: could not allocate block of size 256.0 KiB (1.9 MiB/1.9 MiB used)', false],
  ['the index is closed', false],
] as const)
  test(`the index is ${unusable ? 'made again' : 'kept'} after: ${says.slice(0, 150)}`, () => {
    assert.equal(isUnusable(new Error(says)), unusable);
  });
