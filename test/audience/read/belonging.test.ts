import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { test, type TestContext } from 'node:test';
import { startReading } from './reading.ts';

/** Beside the folder of lists, with something in it that is nobody's business. */
async function secretFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postrider-secret-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'secret.csv');
  await writeFile(file, 'SECRET_KEY=abc\nmore\n');
  return file;
}

const outside = { code: 'input-invalid', message: /is outside AUDIENCE_FILES_DIR \(/ };

test('no file outside of the folder of lists is read: by name, by .. or by a link', async (t) => {
  const { members, folder } = await startReading(t);
  const secret = await secretFile(t);
  const rows = { format: 'csv', header: false, userId: 1 } as const;
  for (const file of ['/etc/passwd', secret, path.relative(folder, secret), `${secret}*`])
    await assert.rejects(members({ file, ...rows }), outside, file);

  await symlink(secret, path.join(folder, 'link.csv'));
  await assert.rejects(members({ file: 'link.csv', ...rows }), outside);
  await assert.rejects(members({ file: '*.csv', ...rows }), outside);
  await symlink(path.dirname(secret), path.join(folder, 'linked'));
  await assert.rejects(members({ file: 'linked', ...rows }), outside);
  await assert.rejects(members({ file: 'linked/secret.csv', ...rows }), outside);
});

test('a column of the file wins over the name of its folder, in every format', async (t) => {
  const { file, folder, sql, values } = await startReading(t);
  for (const name of ['tier=export', 'ID=7', 'c0=x', 'c1=x']) {
    await file(`${name}/csv/a.csv`, 'tier,id\ngold,u1\nsilver,u2\n');
    await file(`${name}/json/a.ndjson`, '{"id":"u1","tier":"gold"}\n{"id":"u2","tier":"silver"}\n');
    await mkdir(path.join(folder, name, 'parquet'));
    const rows = "VALUES ('u1', 'gold'), ('u2', 'silver')) AS v(id, tier)";
    await sql(`COPY (SELECT * FROM (${rows}) TO '${folder}/${name}/parquet/a.parquet'`);
    for (const format of ['csv', 'json', 'parquet']) {
      const { current } = await values({ file: `${name}/${format}`, userId: 'id', value: 'tier' });
      const expected = new Map([
        ['u1', '"gold"'],
        ['u2', '"silver"'],
      ]);
      assert.deepEqual(current, expected, `${name}/${format}`);
    }
  }
});

test('links that stay in the folder are followed, as Kubernetes mounts its files', async (t) => {
  const { file, folder, members } = await startReading(t);
  await file('..2026/list.csv', 'id\n1\n');
  await symlink('..2026/list.csv', path.join(folder, 'list.csv'));
  assert.equal((await members({ file: 'list.csv', userId: 'id' })).report.members, 1);
});

test('nor does the database read or write anywhere else', async (t) => {
  const { sql: run } = await startReading(t);
  const secret = await secretFile(t);
  for (const sql of [
    `select * from read_csv('${secret}')`,
    `copy (select 1) to '${secret}'`,
    `attach '${secret}.duckdb' as other`,
    'install httpfs',
    'set enable_external_access = true',
  ])
    await assert.rejects(run(sql), /Permission Error|locked/, sql);
});

test('a missing column is named, and what the file holds is not', async (t) => {
  const { file, members } = await startReading(t);
  await file('key.csv', 'SECRET_KEY=abc,other\nx,y\n');
  await assert.rejects(members({ file: 'key.csv', userId: 'customer' }), (error: Error) => {
    assert.match(error.message, /key\.csv has no column customer; it has 2 columns$/);
    return true;
  });
});

test('a file whose last line does not end is cut off, and nothing of it is believed', async (t) => {
  const { file, members } = await startReading(t);
  const cutOff = { code: 'input-invalid', message: /is cut off: its last line does not end/ };
  await file('cut.csv', 'id\nuser-1\nuser-10');
  await assert.rejects(members({ file: 'cut.csv', userId: 'id' }), cutOff);
  await file('cut.ndjson', '{"id":"user-1"}\n{"id":"user-10"}');
  await assert.rejects(members({ file: 'cut.ndjson', userId: 'id' }), cutOff);
  await file('cut.csv.gz', gzipSync('id\nuser-1\nuser-10'));
  await assert.rejects(members({ file: 'cut.csv.gz', userId: 'id' }), cutOff);
  await file('whole.csv.gz', gzipSync('id\nuser-1\n'));
  assert.equal((await members({ file: 'whole.csv.gz', userId: 'id' })).report.members, 1);
});

test('a line with another number of cells than the header is an error with its line', async (t) => {
  const { file, members } = await startReading(t);
  await file('cells.csv', 'id,name\n1,a\n2\n3,c\n');
  await assert.rejects(members({ file: 'cells.csv', userId: 'id' }), {
    message: /cells\.csv:3: has more or fewer columns than the first line/,
  });
});

test('a list is read when its writer says that it is complete, and with as many rows as that says', async (t) => {
  const { file, folder, members } = await startReading(t);
  await file('export/part-1.csv', 'id\n1\n2\n');
  const rows = { file: 'export', complete: '_SUCCESS', userId: 'id' };
  await assert.rejects(members(rows), {
    code: 'input-invalid',
    message: /^export is not complete: there is no .*export\/_SUCCESS yet$/,
  });
  await file('export/_SUCCESS', '');
  assert.equal((await members(rows)).report.members, 2);
  await file('export/_SUCCESS', '3\n');
  await assert.rejects(members(rows), {
    message: /^export has 2 rows, and _SUCCESS says that it should have 3$/,
  });
  await mkdir(path.join(folder, 'daily'));
  await file('daily/list.csv', 'id\n1\n');
  await file('daily/list.done', '1');
  const one = { file: 'daily/list.csv', complete: 'list.done', userId: 'id' };
  assert.equal((await members(one)).report.members, 1);
});
