import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Registry } from 'prom-client';
import { keepBounds, usualBounds, type Bounds } from '../../src/console/index/bounds.ts';
import { openIndexDatabase, type IndexDatabase } from '../../src/console/index/database.ts';
import { bucketMs } from '../../src/console/index/schema.ts';
import { ConsoleMetrics } from '../../src/console/metrics.ts';
import { silentLogger } from '../../src/ops/log.ts';

const minuteMs = 60_000;
const nowMs = Date.UTC(2026, 0, 31);
/** One a minute, so the oldest is as many minutes old as there are. */
const attempts = 300_000;

let folder: string;
let database: IndexDatabase;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-bounds-'));
  database = await openIndexDatabase(folder, {
    log: silentLogger,
    metrics: new ConsoleMetrics(new Registry()),
  });
  // What compression takes little of, as ids are.
  await database.writer.run(`
    insert into attempts by name
    select n as seq, ${nowMs} - (${attempts} - n) * ${minuteMs} as at_ms,
      md5(n::varchar) as message, md5((n + 0.5)::varchar) as usr
    from range(1, ${attempts + 1}) as numbers(n)`);
  await database.writer.run('checkpoint');
});

after(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

interface Held {
  readonly count: bigint;
  readonly oldest: bigint;
  readonly newest: bigint;
  readonly bytes: bigint;
}

async function held(): Promise<{ count: number; oldest: number; newest: number; bytes: number }> {
  const [row] = await database.rows<Held>(`
    select count(*) as count, min(seq) as oldest, max(seq) as newest,
      (select used_blocks * block_size from pragma_database_size()) as bytes
    from attempts`);
  assert.ok(row);
  const { count, oldest, newest, bytes } = row;
  return {
    count: Number(count),
    oldest: Number(oldest),
    newest: Number(newest),
    bytes: Number(bytes),
  };
}

const unbounded: Bounds = { ...usualBounds, attemptsMs: attempts * minuteMs, bytes: Infinity };

test('what is younger and less than the bounds stays', async () => {
  await keepBounds(database, unbounded, nowMs);
  assert.equal((await held()).count, attempts);
});

test('what is older than its topic keeps it goes, with its buckets', async () => {
  const fromMs = nowMs - (attempts - 1_000) * minuteMs;
  const bucket = Math.floor(fromMs / bucketMs);
  await database.writer.run(
    `insert into buckets by name select unnest([${bucket - 1}, ${bucket}]) as bucket`,
  );
  await keepBounds(database, { ...unbounded, attemptsMs: nowMs - fromMs }, nowMs);
  assert.deepEqual((await held()).oldest, 1_000);
  const left = await database.rows<{ bucket: bigint }>('select bucket from buckets');
  assert.deepEqual(
    left.map((row) => Number(row.bucket)),
    [bucket],
  );
});

test('of a file that is too large the oldest attempts go, until it fits, and the newest stay', async () => {
  const full = await held();
  const bounds = { ...unbounded, bytes: Math.floor(full.bytes * 0.6) };
  let looks = 0;
  for (let { bytes } = full; bytes > bounds.bytes; { bytes } = await held()) {
    looks += 1;
    assert.ok(looks <= 20, 'twenty looks do not make it fit');
    await keepBounds(database, bounds, nowMs);
  }
  const { oldest, newest, count } = await held();
  assert.deepEqual([newest, count], [attempts, newest - oldest + 1]);
  assert.ok(count > attempts / 3, `no more than needed: ${count} are left`);
  await keepBounds(database, bounds, nowMs);
  assert.equal((await held()).count, count);
});
