import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startReading } from './reading.ts';

const spent = `select customer from read_csv('orders.csv', types = {customer: 'VARCHAR'})
  group by customer having sum(total) >= 100 -- big ones`;

test('a query joins and filters files, whose names start in the folder of lists', async (t) => {
  const { file, members, values } = await startReading(t);
  await file('orders.csv', 'customer,total\n007,60\n007,50\nada,20\nbob,300\n');
  await file('names.csv', 'id,name\n007,James\nbob,Bob\n');
  const workingFolder = process.cwd();
  assert.deepEqual([...(await members({ sql: spent })).current.keys()].sort(), ['007', 'bob']);
  assert.equal(process.cwd(), workingFolder);
  const joined = await values({
    sql: `select id, sum(total) from read_csv('names.csv', all_varchar = true)
      join read_csv('orders.csv', types = {customer: 'VARCHAR'}) on id = customer group by id;`,
  });
  assert.deepEqual(Object.fromEntries(joined.current), { '007': '110', bob: '300' });
});

test('data is refused that is older by its own query than it may be', async (t) => {
  const { file, members } = await startReading(t);
  const at = new Date(Date.now() - 3 * 86_400_000).toISOString();
  await file('list.csv', `id,updated\nu1,${at}\n`);
  const sql = `select id from 'list.csv'`;
  for (const type of ['timestamp', 'timestamptz', 'date']) {
    const asOf = `select max(updated::${type}) from 'list.csv'; `;
    assert.equal((await members({ sql, asOf, maxAge: '5d' })).current.size, 1);
    await assert.rejects(members({ sql, asOf, maxAge: '2d' }), {
      message: /^the data is from .*Z, (?:3d|3d \d+h) ago, and maxAge is 2d; nothing was sent/,
    });
  }
  await assert.rejects(members({ sql, asOf: 'select null::timestamp', maxAge: '5d' }), {
    message: /^the data does not say when it was written, and maxAge is 5d/,
  });
  await assert.rejects(members({ sql, asOf: 'select now(); select now()', maxAge: '5d' }), {
    message: /has 2 statements, allowed: one SELECT$/,
  });
});

test('what is no single SELECT with the right columns is refused, and nothing is written', async (t) => {
  const { file, folder, members } = await startReading(t);
  await file('list.csv', 'id\n1\n');
  const refused: readonly (readonly [sql: string, says: RegExp])[] = [
    [`copy (select 1) to '${folder}/out.csv'`, /is no SELECT, allowed: one SELECT$/],
    ['select 1; select 2', /has 2 statements, allowed: one SELECT$/],
    ['select 1) as x; drop table current; select (1', /is not SQL that DuckDB understands$/],
    ['select 1, 2', /returns 2 columns, allowed: one, the user's id$/],
    ['set threads = 1', /is no SELECT/],
    ['select nothing from list', /the query failed: Catalog Error: Table with name list/],
  ];
  for (const [sql, says] of refused)
    await assert.rejects(members({ sql }), { code: 'input-invalid', message: says }, sql);
});

test('a query reads nothing outside of the folder of lists, and its errors quote no file', async (t) => {
  const { file, folder, members } = await startReading(t);
  const elsewhere = await mkdtemp(path.join(tmpdir(), 'postrider-secret-'));
  t.after(() => rm(elsewhere, { recursive: true }));
  const secret = path.join(elsewhere, 'secret.csv');
  await writeFile(secret, 'SECRET_KEY=abc\n');
  const relative = path.relative(folder, secret);
  for (const name of [secret, relative, '/etc/passwd', 'https://a.example/x.csv'])
    await assert.rejects(members({ sql: `select content from read_text('${name}')` }), {
      code: 'input-invalid',
      message: /^the query failed: (Permission|Missing Extension) Error/,
    });

  await file('own.csv', 'hidden_column\nhidden value\n');
  for (const sql of [
    "select wrong from read_csv('own.csv')",
    "select hidden_column::int::varchar from read_csv('own.csv')",
  ])
    await assert.rejects(members({ sql }), (error: Error) => {
      assert.match(error.message, /^the query failed: /);
      assert.doesNotMatch(error.message, /hidden/);
      return true;
    });

  await symlink(secret, path.join(folder, 'link.csv'));
  await assert.rejects(members({ sql: "select * from 'link.csv'" }), {
    message: /link\.csv is a link out of AUDIENCE_FILES_DIR/,
  });
});

test('a query that takes too long is ended', async (t) => {
  const { members } = await startReading(t);
  const sql = 'select max(a.range * b.range)::varchar from range(1000000) a, range(1000000) b';
  await assert.rejects(members({ sql }), {
    code: 'input-invalid',
    message: /^the query took longer than AUDIENCE_QUERY_TIMEOUT \(2s\)$/,
  });
});
