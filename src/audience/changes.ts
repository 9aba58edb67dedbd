import type { DuckDBConnection } from '@duckdb/node-api';
import type { SaidTrait, SyncCounts } from '../resources/audiences/record.ts';
import { numbersOf, textColumns } from './database.ts';

/** The part of an audience or a computed trait that a sync needs. */
export interface SyncTarget extends SaidTrait {
  readonly id: string;
}

/** The change of one user: the new value of the trait, as JSON text. */
export interface Change {
  readonly userId: string;
  /** Null: the user is no longer in the data. */
  readonly value: string | null;
  /** The value that was sent last; null: none, or the user had left. */
  readonly was: string | null;
  /** The user was deleted since, so no call is made. Epoch milliseconds. */
  readonly deletedMs: number | undefined;
}

/** Kinds of changes in reports. `baseline`: unchanged, and sent again. `forgotten`: of a deleted user. */
type ChangeKind = 'added' | 'removed' | 'changed' | 'baseline' | 'forgotten';

export function kindOf({ value, was, deletedMs }: Change): ChangeKind {
  if (deletedMs !== undefined) return 'forgotten';
  if (value === was) return 'baseline';
  if (value === null) return 'removed';
  return was === null ? 'added' : 'changed';
}

/** The result of comparing the data with the memberships. */
export interface Difference extends SyncCounts {
  /** Users with a membership who were not deleted since. */
  readonly before: number;
  /** The largest number of users whose value changes to the same new value. */
  readonly changedAlike: number;
}

interface DifferenceOptions {
  /** Include users that do not differ. */
  readonly withBaseline: boolean;
  /** Users without a membership get no call if they were deleted at this time or later. */
  readonly newcomersSinceMs: number;
  /** All deletions since then are known. An unknown one was taken back. */
  readonly deletionsKnownFromMs: number;
}

/**
 * Compares `current` with `state.members` and `deletions`, and leaves the differences as `changes (user_id,
 * value, was, deleted_ms)`.
 */
export async function findChanges(
  connection: DuckDBConnection,
  options: DifferenceOptions,
): Promise<Difference> {
  const [members = 0] = await numbersOf(connection, 'select count(*) from current');
  const [told = 0, rows = 0] = await numbersOf(
    connection,
    `select count(*) filter (not starts_with(value, '{')), count(*) from state.members`,
  );
  const [deletedNewcomers = 0] = await numbersOf(
    connection,
    `select count(*) from deletions semi join current using (user_id)
     where time_ms >= ${options.newcomersSinceMs}`,
  );
  // A first sync needs no second table as large as the first. `changes` is always a view, because a command
  // compares several traits with one connection, and DuckDB does not replace a table with a view.
  await connection.run(rows === 0 && deletedNewcomers === 0 ? allAreNew : difference(options));
  const [added = 0, removed = 0, changed = 0, baseline = 0, forgotten = 0, fallen = 0] =
    await numbersOf(
      connection,
      `select
         count(*) filter (deleted_ms is null and was is null),
         count(*) filter (deleted_ms is null and value is null),
         count(*) filter (deleted_ms is null and value <> was),
         count(*) filter (deleted_ms is null and value = was),
         count(*) filter (deleted_ms is not null),
         count(*) filter (deleted_ms is not null and was is not null)
       from changes`,
    );
  const [changedAlike = 0] = await numbersOf(
    connection,
    `select coalesce(max(users), 0) from
       (select count(*) as users from changes where deleted_ms is null and value <> was group by value)`,
  );
  const before = told - fallen;
  return { members, before, added, removed, changed, baseline, forgotten, changedAlike };
}

/** In chunks as DuckDB returns them; in no particular order unless they are sorted. */
export async function* readChanges(
  connection: DuckDBConnection,
  how: { readonly mostRows?: number; readonly isSorted?: boolean } = {},
): AsyncGenerator<Change[], void, undefined> {
  const order = how.isSorted === true ? 'order by user_id' : '';
  const limit = how.mostRows === undefined ? '' : `limit ${how.mostRows}`;
  const columns = textColumns(
    connection,
    `select user_id, value, was, deleted_ms::varchar from changes ${order} ${limit}`,
  );
  for await (const [userIds = [], values = [], former = [], deleted = []] of columns) {
    yield userIds.map((userId, row) => {
      const deletedMs = deleted[row] ?? null;
      return {
        userId: userId ?? '',
        value: values[row] ?? null,
        was: former[row] ?? null,
        deletedMs: deletedMs === null ? undefined : Number(deletedMs),
      };
    });
  }
}

/** Applies `changes` to `state.members`, except for some users. */
export async function applyChanges(
  connection: DuckDBConnection,
  leftOut: readonly string[],
  sinceMs: number,
): Promise<void> {
  await connection.run('create or replace temp table left_out (user_id varchar)');
  for (const userId of leftOut) await connection.run('insert into left_out values ($1)', [userId]);
  await connection.run(`
    create or replace temp view applied as
      select * from changes
      where (value is distinct from was or deleted_ms is not null)
        and user_id not in (select user_id from left_out);
    delete from state.members where user_id in (select user_id from applied);
    insert into state.members
      select user_id,
        case when deleted_ms is null then value else '{"deleted":' || deleted_ms::bigint || '}' end,
        ${sinceMs}
      from applied where value is not null`);
}

const allAreNew = `
  create or replace view changes as
    select user_id, value, null::varchar as was, null::double as deleted_ms from current`;

/**
 * A membership from before its user's deletion has ended. If a deleted user is in the data nevertheless, the
 * user is marked as deleted until they leave the data or the deletion is taken back.
 */
function difference({
  withBaseline,
  newcomersSinceMs,
  deletionsKnownFromMs,
}: DifferenceOptions): string {
  return `
    create or replace table differences as
      with users as (
        select coalesce(c.user_id, m.user_id) as user_id, c.value as value, m.value as told,
          coalesce(m.since_ms, ${newcomersSinceMs}) as since_ms,
          case when starts_with(m.value, '{') then (m.value->>'$.deleted')::double end as marked_ms
        from current c full join state.members m on c.user_id = m.user_id
      ), known as (
        select u.* exclude (told, marked_ms), d.time_ms,
          case when marked_ms is null then told end as told,
          case when d.time_ms is null and marked_ms > ${deletionsKnownFromMs} then null
            else marked_ms end as marked_ms
        from users u left join deletions d on u.user_id = d.user_id
      )
      select user_id, value, told as was,
        case when marked_ms is not null then marked_ms
          when time_ms >= since_ms then time_ms end as deleted_ms
      from known
      -- A run that compares memberships with themselves finds marks as values.
      where not coalesce(starts_with(value, '{'), false) and case
        when marked_ms is not null then value is null
        when time_ms >= since_ms then true
        else ${withBaseline ? 'value is not null or told is not null' : 'value is distinct from told'} end;
    create or replace view changes as select * from differences`;
}
