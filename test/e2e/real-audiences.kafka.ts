import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openDatabase, type Database } from '../../src/audience/database.ts';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

/** What real customers spent on each day; data/README.md says where it comes from. */
const days = fileURLToPath(new URL('data/customer-days.csv.gz', import.meta.url));
const months = Array.from(
  { length: 12 },
  (_, index) => `2011-${`${index + 1}`.padStart(2, '0')}-01`,
);
const bigSpent = 2_000;

/** `13047 big_spenders true`, in the order in which they arrived. */
const arrivals: string[] = [];
let folder: string;
let database: Database;
let receiver: Receiver;
let postrider: Installation;
let roles: RunningRole[] = [];

before(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'postrider-real-')));
  database = await openDatabase(path.join(folder, 'test.duckdb'), folder, [path.dirname(days)]);
  await database.connection.run(`CREATE TABLE days AS FROM read_csv('${days}', columns =
    {customer_id: 'VARCHAR', day: 'DATE', total: 'DECIMAL(12,3)'})`);
  receiver = await startReceiver({
    port: 0,
    sharedSecret: 'teehee',
    answer: ({ body, signature }) => {
      assert.equal(signature, 'valid');
      const { userId, traits } = JSON.parse(body.toString()) as {
        readonly userId: string;
        readonly traits: object;
      };
      for (const [trait, value] of Object.entries(traits))
        arrivals.push(`${userId} ${trait} ${String(value)}`);
      return { status: 200 };
    },
  });
  postrider = await install({
    AUDIENCE_CHECKPOINT_DIR: path.join(folder, 'checkpoints'),
    AUDIENCE_FILES_DIR: folder,
  });
  await run('topics', '--create', '--check');
  await apply();
  roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await receiver.close();
  database.close();
  await rm(folder, { recursive: true });
});

async function run(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function apply(): Promise<void> {
  const webhooks = [{ url: receiver.url }];
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk_shop'] },
    ...['crm', 'other'].map((id) => ({
      kind: 'Destination',
      id,
      name: id,
      sources: ['shop'],
      sharedSecret: 'teehee',
      webhooks,
    })),
    {
      kind: 'Audience',
      id: 'big',
      name: 'Big Spenders',
      source: 'shop',
      destinations: ['crm'],
      members: { file: path.join(folder, 'members.csv'), userId: 'customer_id' },
      // A season's big spenders are others than the last one's.
      limits: { maxRemoved: 60, maxAdded: 300 },
    },
    {
      kind: 'ComputedTrait',
      id: 'ltv',
      name: 'Lifetime Value',
      source: 'shop',
      destinations: ['crm'],
      values: { file: path.join(folder, 'ltv'), userId: 'customer_id', value: 'total' },
    },
  ];
  const stdin = JSON.stringify(resources);
  const { code, stderr } = await postrider.run(['apply', '-f', '-'], { stdin });
  assert.equal(code, 0, stderr);
}

/** One sync of each; resolves with how many changes each sent. */
async function syncBoth(): Promise<readonly number[]> {
  const { audiences } = JSON.parse(await run('audience-sync', '--json', '--yes', 'big', 'ltv')) as {
    readonly audiences: readonly Readonly<Record<'added' | 'removed' | 'changed', number>>[];
  };
  return audiences.map(({ added, removed, changed }) => added + removed + changed);
}

/** What a data team exports on the first of a month. */
async function exportSnapshots(month: string): Promise<void> {
  const { connection } = database;
  await connection.run(`COPY (
    SELECT customer_id FROM days
    WHERE day >= DATE '${month}' - 90 AND day < DATE '${month}'
    GROUP BY customer_id HAVING sum(total) >= ${bigSpent}
  ) TO '${folder}/members.csv' (HEADER)`);
  await connection.run(`COPY (
    SELECT customer_id, sum(total) AS total FROM days WHERE day < DATE '${month}'
    GROUP BY customer_id
  ) TO '${folder}/ltv' (FORMAT parquet, FILE_SIZE_BYTES '20KB', OVERWRITE)`);
}

/**
 * What receivers must be told in each month, from the purchases themselves: of every customer and month,
 * what held then and a month before.
 */
async function expectedChanges(): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = await database.connection.runAndReadAll(`
    WITH months AS (SELECT unnest([${months.map((month) => `DATE '${month}'`).join(', ')}]) AS month),
    spent AS (
      SELECT month, customer_id,
        coalesce(sum(total) FILTER (day >= month - 90), 0) >= ${bigSpent} AS is_big,
        sum(total)::DOUBLE AS lifetime
      FROM months JOIN days ON day < month GROUP BY ALL
    ),
    compared AS (
      SELECT *,
        lag(is_big, 1, false) OVER customer AS was_big,
        lag(lifetime) OVER customer AS lifetime_before
      FROM spent WINDOW customer AS (PARTITION BY customer_id ORDER BY month)
    )
    SELECT strftime(month, '%Y-%m-%d'), customer_id, 'big_spenders', is_big::VARCHAR
      FROM compared WHERE is_big <> was_big
    UNION ALL
    SELECT strftime(month, '%Y-%m-%d'), customer_id, 'lifetime_value', lifetime::VARCHAR
      FROM compared WHERE lifetime IS DISTINCT FROM lifetime_before`);
  const told = (found.getRowsJson() as [string, string, string, string][]).map(
    ([month, customer, trait, value]) => {
      const shown = trait === 'lifetime_value' ? String(Number(value)) : value;
      return { month, text: `${customer} ${trait} ${shown}` };
    },
  );
  const byMonth = Map.groupBy(told, ({ month }) => month);
  return new Map([...byMonth].map(([month, each]) => [month, each.map(({ text }) => text).sort()]));
}

test('a year of real purchases, synced month after month, arrives as SQL counts it', async () => {
  const expected = await expectedChanges();
  let told = 0;
  for (const month of months) {
    await exportSnapshots(month);
    const due = expected.get(month) ?? [];
    const isTold = (trait: string): number => due.filter((text) => text.includes(trait)).length;
    assert.deepEqual(await syncBoth(), [isTold('big_spenders'), isTold('lifetime_value')], month);
    await eventually(() => {
      assert.ok(arrivals.length >= told + due.length, `${month}: ${arrivals.length - told}`);
    });
    assert.deepEqual(arrivals.slice(told).sort(), due, month);
    told += due.length;
  }
  assert.ok(told > 10_000, `only ${told} changes`);
  assert.equal(arrivals.length, told);
});

test('nothing changed, nothing is sent', async () => {
  const before = arrivals.length;
  assert.deepEqual(await syncBoth(), [0, 0]);
  assert.equal(arrivals.length, before);
});
