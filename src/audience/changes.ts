import type { DuckDBConnection } from '@duckdb/node-api';
import { numbersOf, textColumns } from './database.ts';
import type { SyncCounts } from './safety.ts';
import type { Change } from './sync-target.ts';

/**
 * Compares `current` with `state.members` and leaves what differs as `changes (user_id, value, was)`.
 *
 * @param withBaseline also those that do not differ
 */
export async function findChanges(
  connection: DuckDBConnection,
  withBaseline: boolean,
): Promise<SyncCounts> {
  const [members = 0] = await numbersOf(connection, 'select count(*) from current');
  const [before = 0] = await numbersOf(connection, 'select count(*) from state.members');
  // A first sync has no need of a second table as large as the first.
  await connection.run(before === 0 ? allAreNew : difference(withBaseline));
  const [added = 0, removed = 0, changed = 0, baseline = 0] = await numbersOf(
    connection,
    `select
       count(*) filter (was is null),
       count(*) filter (value is null),
       count(*) filter (value <> was),
       count(*) filter (value = was)
     from changes`,
  );
  return { members, before, added, removed, changed, baseline };
}

/** As many at a time as DuckDB gives; in no particular order. */
export async function* readChanges(
  connection: DuckDBConnection,
  mostRows?: number,
): AsyncGenerator<Change[], void, undefined> {
  const limit = mostRows === undefined ? '' : `limit ${mostRows}`;
  const columns = textColumns(connection, `select user_id, value, was from changes ${limit}`);
  for await (const [userIds = [], values = [], former = []] of columns) {
    yield userIds.map((userId, row) => ({
      userId: userId ?? '',
      value: values[row] ?? null,
      was: former[row] ?? null,
    }));
  }
}

/** Brings `state.members` to where `changes` lead, except for some users. */
export async function applyChanges(
  connection: DuckDBConnection,
  leftOut: readonly string[],
): Promise<void> {
  await connection.run('create or replace temp table left_out (user_id varchar)');
  for (const userId of leftOut) await connection.run('insert into left_out values ($1)', [userId]);
  await connection.run(`
    create or replace temp view applied as
      select user_id, value, was from changes
      where value is distinct from was and user_id not in (select user_id from left_out);
    delete from state.members
      where user_id in (select user_id from applied where was is not null);
    insert into state.members select user_id, value from applied where value is not null`);
}

const allAreNew = `
  create or replace view changes as
    select user_id, value, null::varchar as was from current`;

function difference(withBaseline: boolean): string {
  return `
    create or replace table changes as
      select coalesce(c.user_id, m.user_id) as user_id, c.value as value, m.value as was
      from current c full join state.members m on c.user_id = m.user_id
      where ${withBaseline ? 'true' : 'c.value is distinct from m.value'}`;
}
