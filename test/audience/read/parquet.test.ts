import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { reportOf, startReading } from './reading.ts';

test('ids of Parquet are text or whole numbers, whatever other files hold', async (t) => {
  const { folder, sql, members } = await startReading(t);
  const write = (name: string, select: string): Promise<void> =>
    sql(`COPY (${select}) TO '${folder}/${name}.parquet' (FORMAT parquet)`);
  await write('a', `SELECT unnest(['u1', ' u1', '007', '', NULL]) AS id`);
  await write('b', 'SELECT 7 AS id');
  await write('c', 'SELECT unnest([18446744073709551615::UBIGINT, NULL]) AS id');
  await write('d', 'SELECT 12345678901234567890::DECIMAL(20,0) AS id');
  await write('e', `SELECT '8d2e5f2a-0000-4000-8000-000000000000'::UUID AS id`);
  await write('f', 'SELECT 7.5::DOUBLE AS id');
  await write('g', 'SELECT true AS id');
  await write('h', 'SELECT [1] AS id');
  await write('i', `SELECT 'old writer'::BLOB AS id`);
  const { current, report } = await members({ file: '*.parquet', userId: 'id' });
  assert.deepEqual([...current.keys()].sort(), [
    '007',
    '12345678901234567890',
    '18446744073709551615',
    '7',
    '8d2e5f2a-0000-4000-8000-000000000000',
    'old writer',
    'u1',
  ]);
  assert.deepEqual(
    report,
    reportOf(
      {
        rows: 14,
        members: 7,
        duplicates: 1,
        trimmedIds: 1,
        numericIds: 4,
        leadingZeroIds: 1,
        longNumericIds: 2,
      },
      { nullIds: 2, emptyIds: 1, otherIds: 3 },
    ),
  );
});

test('values of Parquet keep their type and every digit', async (t) => {
  const { folder, sql, values } = await startReading(t);
  for (const [select, expected] of [
    ['12.500::DECIMAL(10,3)', '12.5'],
    ['1234567890123456789012.10::DECIMAL(30,2)', '1234567890123456789012.1'],
    ['10::DOUBLE', '10'],
    ['0.1::DOUBLE', '0.1'],
    ['1e20::DOUBLE', '100000000000000000000'],
    ['19.99::FLOAT', '19.99'],
    ['100::TINYINT', '100'],
    ['true', 'true'],
    [`'10'`, '"10"'],
    [`DATE '2026-01-31'`, '"2026-01-31"'],
    [`TIMESTAMP '2026-01-31 10:11:12.5'`, '"2026-01-31T10:11:12.5"'],
  ] as const) {
    await sql(`COPY (SELECT 'u' AS id, ${select} AS v) TO '${folder}/v.parquet' (FORMAT parquet)`);
    const { current } = await values({ file: 'v.parquet', userId: 'id', value: 'v' });
    assert.equal(current.get('u'), expected, select);
  }
});

test('values of Parquet that JSON cannot hold are left out', async (t) => {
  const { folder, sql, values } = await startReading(t);
  for (const select of [`'nan'::DOUBLE`, `'inf'::DOUBLE`, '[1]', '{a: 1}']) {
    await sql(`COPY (SELECT 'u' AS id, ${select} AS v) TO '${folder}/v.parquet' (FORMAT parquet)`);
    await assert.rejects(values({ file: 'v.parquet', userId: 'id', value: 'v' }), {
      message:
        'none of the 1 rows can be used: 1 whose value is neither text, a number, true nor false',
    });
  }
});

test('a Parquet file that is not whole, or has no such column, is named', async (t) => {
  const { folder, file, sql, members } = await startReading(t);
  await sql(`COPY (SELECT i AS id, 'x' AS v FROM range(100000) r(i)) TO '${folder}/whole.parquet'`);
  const whole = await readFile(path.join(folder, 'whole.parquet'));
  await file('cut.parquet', whole.subarray(0, whole.length - 100));
  await file('damaged.parquet', whole.fill(7, 100, 4_000));
  for (const name of ['cut', 'damaged'])
    await assert.rejects(members({ file: `${name}.parquet`, userId: 'id' }), {
      code: 'input-invalid',
      message: new RegExp(`/${name}\\.parquet is not a whole Parquet file$`),
    });
  await sql(
    `COPY (SELECT unhex('550e8400e29b41d4a716446655440000') AS id) TO '${folder}/uuid.parquet'`,
  );
  await assert.rejects(members({ file: 'uuid.parquet', userId: 'id' }), {
    message: /\/uuid\.parquet has bytes in a column that are no text, such as a UUID of 16 bytes/,
  });
  await sql(`COPY (SELECT 1 AS customer_id, 2 AS v) TO '${folder}/other.parquet'`);
  await assert.rejects(members({ file: 'other.parquet', userId: 'id' }), {
    message: /\/other\.parquet has no column id; it has 2 columns$/,
  });
});
