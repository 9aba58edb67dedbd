// Runs in a process of its own: the library of the server ends the process when nothing is left to do.

import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { Writable } from 'node:stream';
import { after, before, test } from 'node:test';
import { copyRows } from '../../../src/audience/read/postgres.ts';
import { eventually } from '../../harness/eventually.ts';
import { startPostgres, type TestPostgres } from '../../harness/postgres.ts';
import { reportOf, startReading } from './reading.ts';

let server: TestPostgres;

before(async () => {
  server = await startPostgres();
});

after(() => server.stop());

test('ids of a query are text or whole numbers, with a number for every rule', async (t) => {
  const { members } = await startReading(t);
  await server.run(`
    CREATE TYPE grade AS ENUM ('gold', 'silver');
    CREATE DOMAIN customer AS text;
    CREATE TABLE ids (id text);
    INSERT INTO ids VALUES ('u1'), ('u1'), (' u2 '), ('007'), ('12345678901234567890'), (''), ('  '),
      (NULL), (E'two\\nlines, "quoted"'), ('ünï'), ('\\N'), ('a\\tb'), (E'c\\td'), (E'\\b.\\v.\\f.\\r.'), ('a,b''')`);
  const read = await members({ postgres: server.url, query: 'select id from ids -- all of them;' });
  assert.deepEqual([...read.current.keys()].sort(), [
    '\b.\v.\f.\r.',
    '007',
    '12345678901234567890',
    '\\N',
    "a,b'",
    'a\\tb',
    'c\td',
    'two\nlines, "quoted"',
    'u1',
    'u2',
    'ünï',
  ]);
  assert.deepEqual(
    read.report,
    reportOf(
      {
        rows: 15,
        members: 11,
        duplicates: 1,
        trimmedIds: 1,
        numericIds: 2,
        leadingZeroIds: 1,
        longNumericIds: 1,
        placeholderIds: 1,
      },
      { nullIds: 1, emptyIds: 2 },
    ),
  );
  for (const [id, expected] of [
    ['7::smallint', '7'],
    ['9223372036854775807', '9223372036854775807'],
    ['12345678901234567890::numeric', '12345678901234567890'],
    ["'x '::char(5)", 'x'],
    ["'8D2E5F2A-0000-4000-8000-000000000000'::uuid", '8d2e5f2a-0000-4000-8000-000000000000'],
    ["'gold'::grade", 'gold'],
    ["'c'::customer", 'c'],
    ["'literal'", 'literal'],
  ] as const) {
    const { current } = await members({ postgres: server.url, query: `select ${id}` });
    assert.deepEqual([...current.keys()], [expected], id);
  }
  for (const id of ['true', '1.5::numeric', '1.5::float8', "'[1]'::json", 'array[1]', 'now()'])
    await assert.rejects(members({ postgres: server.url, query: `select ${id}` }), {
      code: 'input-invalid',
      message: 'none of the 1 rows can be used: 1 whose id is neither text nor a whole number',
    });
});

test('values of a query keep their type and every digit', async (t) => {
  const { values } = await startReading(t);
  for (const [value, expected] of [
    ['12.500::numeric', '12.5'],
    ['1234567890123456789012.10::numeric', '1234567890123456789012.1'],
    ['0.1::float8', '0.1'],
    ['19.99::float4', '19.99'],
    ['1e20::float8', '100000000000000000000'],
    ['9223372036854775807::int8', '9223372036854775807'],
    ['true', 'true'],
    ["'10'::text", '"10"'],
    [`E'a "b"\\n'`, String.raw`"a \"b\"\n"`],
    ["'1.50'::jsonb", '1.5'],
    ["date '2026-01-31'", '"2026-01-31"'],
  ] as const) {
    const query = `select 'u', ${value}`;
    const { current } = await values({ postgres: server.url, query });
    assert.equal(current.get('u'), expected, value);
  }
  const query = `select * from (values ('a', 1::float8), ('b', 'NaN'), ('c', 'Infinity'), ('d', null)) v`;
  const { report } = await values({ postgres: server.url, query });
  assert.deepEqual(report, reportOf({ rows: 4, members: 1 }, { otherValues: 2, nullValues: 1 }));
});

test('rows are streamed, and nothing of them is left behind', async (t) => {
  const { members, folder } = await startReading(t);
  const query = `with g as (select generate_series(1, 300000) i) select 'user-' || i % 200000 from g`;
  const { report } = await members({ postgres: server.url, query });
  assert.deepEqual(report, reportOf({ rows: 300_000, members: 200_000, duplicates: 100_000 }));
  const left = await readdir(path.join(folder, 'spilled'));
  assert.deepEqual(
    left.filter((name) => name.startsWith('postgres')),
    [],
  );
});

test('rows wait in the server while whoever takes them is slow', async () => {
  let taken = 0;
  let isWaiting = async (): Promise<void> => {
    isWaiting = () => Promise.resolve();
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'ClientWrite'";
    await eventually(async () => (await server.run(waiting)).length === 1);
  };
  const slow = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      taken += chunk.length;
      isWaiting().then(() => {
        done();
      }, done);
    },
  });
  const query = "select repeat('x', 990) || i from generate_series(100000, 200000) i";
  await copyRows({ postgres: server.url, query }, 'members', slow, 60_000, () => undefined);
  assert.equal(taken, 100_001 * 997);
});

test('the query can only read', async (t) => {
  const { members } = await startReading(t);
  await server.run('CREATE TABLE kept (id text)');
  await server.run(
    "CREATE FUNCTION wipe() RETURNS text LANGUAGE sql AS 'delete from kept returning id'",
  );
  await assert.rejects(members({ postgres: server.url, query: 'select wipe()' }), {
    code: 'input-invalid',
    message: 'PostgreSQL refused the query: cannot execute DELETE in a read-only transaction',
  });
});

test('a query cannot leave its transaction', async (t) => {
  const { members } = await startReading(t);
  await server.run("CREATE TABLE held (id text); INSERT INTO held VALUES ('u')");
  const leaving = 'delete from held; create table made (id text)';
  for (const query of [
    `select id from held) as picked; commit; ${leaving}; select * from (select id from held`,
    `select id from held) as picked(id)) to stdout; commit; ${leaving}; copy (select 1 from (select 1`,
    `select id from held) as picked limit 0; commit; begin; ${leaving}; commit; --`,
    `select 'u'; commit; ${leaving}`,
  ])
    await assert.rejects(members({ postgres: server.url, query }), {
      code: 'input-invalid',
      message: /^PostgreSQL refused the query: (cannot insert multiple commands|syntax error)/,
    });
  const setting = "select current_setting('default_transaction_read_only')";
  const { current } = await members({ postgres: server.url, query: setting });
  assert.deepEqual([...current.keys()], ['on']);
  const [row] = await server.run("SELECT count(*), to_regclass('made') AS made FROM held");
  assert.deepEqual(row, { count: '1', made: null });
});

test('a pooler that knows no options of a session is asked without them', async (t) => {
  const { members } = await startReading(t);
  const asked: boolean[] = [];
  const pooler = createServer((socket) => {
    socket.once('data', (startup) => {
      const hasOptions = startup.includes('default_transaction_read_only');
      asked.push(hasOptions);
      const code = hasOptions ? '08P01' : '28000';
      const fields = Buffer.from(`SFATAL\0C${code}\0Mno such login\0\0`);
      const head = Buffer.from('E\0\0\0\0');
      head.writeInt32BE(fields.length + 4, 1);
      socket.end(Buffer.concat([head, fields]));
    });
  });
  await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve));
  t.after(() => pooler.close());
  const { port } = pooler.address() as AddressInfo;
  const postgres = `postgres://u:p@127.0.0.1:${port}/db`;
  await assert.rejects(members({ postgres, query: 'select 1' }), {
    message: 'PostgreSQL refused the connection: no such login',
  });
  assert.deepEqual(asked, [true, false]);
});

test('what goes wrong is a sentence with what the server said, and nothing secret', async (t) => {
  const { members, values } = await startReading(t);
  const { url, user, password } = server;
  const select = 'select 1';
  for (const [postgres, query, code, message] of [
    [
      url,
      'select 1, 2',
      'input-invalid',
      /^the query returns 2 columns \(.*\); it should return one column, the user's id$/,
    ],
    [
      url,
      'select nope from nowhere',
      'input-invalid',
      /^PostgreSQL refused the query: relation "nowhere" does not exist$/,
    ],
    [url, 'select 1; select 2', 'input-invalid', /^PostgreSQL refused the query: syntax error/],
    [url, 'select i / 0 from generate_series(1, 9) i', 'input-invalid', /division by zero$/],
    [
      url.replace(password, 'wr0ng'),
      select,
      'input-invalid',
      /^PostgreSQL refused the connection: password authentication failed for user "tester"$/,
    ],
    [
      url.replace(/postgres$/, 'gone'),
      select,
      'input-invalid',
      /refused the connection: database "gone" does not exist$/,
    ],
    [
      `postgres://${user}:${password}@127.0.0.1:1/x`,
      select,
      'database-unavailable',
      /^PostgreSQL at 127\.0\.0\.1:1 is not available: connection refused$/,
    ],
    [
      `postgres://${user}:${password}@gone.invalid/x`,
      select,
      'database-unavailable',
      /^PostgreSQL at gone\.invalid is not available: /,
    ],
    [
      `${url}?sslmode=verify-full`,
      select,
      'database-unavailable',
      /: The server does not support SSL connections$/,
    ],
  ] as const)
    await assert.rejects(members({ postgres, query }), (error: Error & { code?: string }) => {
      assert.match(error.message, message);
      assert.equal(error.code, code);
      assert.doesNotMatch(`${error.stack ?? ''}${JSON.stringify(error)}`, /pa55word|wr0ng/);
      assert.equal(error.cause, undefined);
      return true;
    });
  await assert.rejects(values({ postgres: url, query: 'select 1' }), {
    message: /^the query returns 1 columns \(\?column\?\); it should return two columns, /,
  });
});

test('data is refused that is older by its own query than it may be', async (t) => {
  const { members } = await startReading(t);
  const from = { postgres: server.url, query: `select 'u1'` };
  for (const type of ['timestamptz', 'timestamp', 'date']) {
    const asOf = `select (now() - interval '3 days')::${type} -- the newest row`;
    assert.equal((await members({ ...from, asOf, maxAge: '5d' })).current.size, 1);
    await assert.rejects(members({ ...from, asOf, maxAge: '2d' }), {
      message: /^the data is from .*Z, 3d.* ago, and maxAge is 2d; nothing was sent/,
    });
  }
  await assert.rejects(members({ ...from, asOf: 'select max(now()) where false', maxAge: '5d' }), {
    message: /^the data does not say when it was written, and maxAge is 5d/,
  });
});

test('a server that ends on the way is not a short result', async (t) => {
  const { members } = await startReading(t);
  const query = `select case when i = 400000 then pg_terminate_backend(pg_backend_pid())::text else i::text end from generate_series(1, 500000) i`;
  await assert.rejects(members({ postgres: server.url, query }), {
    code: 'database-unavailable',
    message: /^PostgreSQL at .* is not available: /,
  });
});

test('a query that takes too long is ended, and says which setting', async (t) => {
  const { members } = await startReading(t);
  await assert.rejects(members({ postgres: server.url, query: 'select pg_sleep(60)::text' }), {
    code: 'database-unavailable',
    message: /the query took longer than AUDIENCE_QUERY_TIMEOUT \(2s\)/,
  });
});
