// Runs in a process of its own: it sets the time zone, which the database reads when it is first opened.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startReading } from './reading.ts';

process.env['TZ'] = 'Europe/Berlin';

const times = [
  [`TIMESTAMPTZ '2026-01-31 12:00:00+00'`, '"2026-01-31T12:00:00Z"'],
  [`TIMESTAMPTZ '2026-07-31 23:30:00.5-02'`, '"2026-08-01T01:30:00.5Z"'],
  [`TIMESTAMPTZ 'infinity'`, '"infinity"'],
  [`TIMESTAMP '2026-01-31 12:00:00'`, '"2026-01-31T12:00:00"'],
] as const;

test('a time with a time zone is written in UTC, whatever the time zone of the machine', async (t) => {
  const { folder, sql, values } = await startReading(t);
  await sql(
    `COPY (SELECT '1' AS id, current_setting('TimeZone') AS v) TO '${folder}/zone.parquet'`,
  );
  const zone = await values({ file: 'zone.parquet', userId: 'id', value: 'v' });
  assert.equal(zone.current.get('1'), '"Europe/Berlin"');
  for (const [time, expected] of times) {
    await sql(`COPY (SELECT '1' AS id, ${time} AS v) TO '${folder}/v.parquet' (FORMAT parquet)`);
    const ofFile = await values({ file: 'v.parquet', userId: 'id', value: 'v' });
    assert.equal(ofFile.current.get('1'), expected, time);
    const ofQuery = await values({ sql: `select '1', ${time}` });
    assert.equal(ofQuery.current.get('1'), expected, time);
  }
  await sql(`COPY (SELECT '1' AS id, NULL::TIMESTAMPTZ AS v) TO '${folder}/v.parquet'`);
  await assert.rejects(
    values({ file: 'v.parquet', userId: 'id', value: 'v' }),
    /1 without a value/,
  );
});
