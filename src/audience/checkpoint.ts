import { constants } from 'node:fs';
import { copyFile, rename, rm, stat } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { numbersOf, openDatabase, quoted } from './database.ts';

/** The properties that make a checkpoint usable. */
export interface CheckpointSubject {
  /** `<topic> of <its partitions>, <audience, source and trait>` */
  readonly name: string;
  /** The id of the topic. While it is the same, offsets mean the same records. */
  readonly topicId: string;
  /** One past the last record, by partition. */
  readonly ends: ReadonlyMap<number, number>;
  readonly nowMs: number;
  /** An older checkpoint may have missed that a user left. */
  readonly maxAgeMs: number;
}

/** The memberships that the checkpoint had, attached to the database as `state`. */
export interface LoadedState {
  /** By partition: where reading of the topic continues. */
  readonly positions: ReadonlyMap<number, number>;
  /** Why the topic has to be read from its beginning; undefined if it need not be. */
  readonly rebuilt: string | undefined;
}

/** The reason to read the topic from its beginning that needs nobody's attention. */
export const noneYet = 'there is no checkpoint yet';

/** Version of the tables below. */
const version = 3;

const tables = `
  create table state.about (version integer, name varchar, topic_id varchar, saved_ms double,
    members double, clean_ms double, marks double);
  create table state.positions (part integer, next double);
  create table state.members (user_id varchar, value varchar, since_ms double);
  create table state.everyone (part integer, value varchar)`;

/**
 * Attaches a copy of the checkpoint as `state`, or an empty one if there is no usable checkpoint. A copy, so
 * that a killed run leaves the checkpoint as it was, and two runs do not lock each other out.
 * @param checkpoint undefined where none is kept
 * @param copy the path of the copy
 */
export async function loadState(
  connection: DuckDBConnection,
  checkpoint: string | undefined,
  copy: string,
  subject: CheckpointSubject,
): Promise<LoadedState> {
  const found = await read(checkpoint, copy, subject);
  if (typeof found === 'string') {
    await Promise.all([rm(copy, { force: true }), rm(`${copy}.wal`, { force: true })]);
    await connection.run(`attach ${quoted(copy)} as state`);
    await connection.run(tables);
    return { positions: new Map(), rebuilt: found };
  }
  await connection.run(`attach ${quoted(copy)} as state`);
  return { positions: found, rebuilt: undefined };
}

/**
 * Makes the attached `state` the checkpoint, in one step, and detaches it. It contains no user who was deleted
 * before `sinceMs`, except for marked ones.
 * @param sinceMs when this sync began, by Kafka's clock
 */
export async function saveState(
  connection: DuckDBConnection,
  checkpoint: string,
  copy: string,
  subject: CheckpointSubject,
  sinceMs: number,
): Promise<void> {
  const { name, topicId, nowMs, ends } = subject;
  const positions = Array.from(ends, ([partition, next]) => `(${partition}, ${next})`);
  const [deleted = 0, marks = 0, marksBefore = 0, cleanBeforeMs = 0] = await numbersOf(
    connection,
    `with before as (select coalesce(max(clean_ms), 0) as clean_ms, coalesce(max(marks), 0) as marks from state.about)
     select (select count(*) from deletions where time_ms >= before.clean_ms),
       (select count(*) from state.members where starts_with(value, '{')), marks, clean_ms
     from before`,
  );
  // A marked user who has left the data is a row that was removed, too.
  const mayHoldDeleted = deleted > 0 || marks < marksBefore;
  const file = mayHoldDeleted ? await rewrite(connection, copy) : copy;
  await connection.run(`
    begin;
    delete from state.about;
    delete from state.positions;
    insert into state.positions values ${positions.join(', ')};
    insert into state.about
      select ${version}, ${quoted(name)}, ${quoted(topicId)}, ${nowMs}, count(*),
        ${mayHoldDeleted ? sinceMs : cleanBeforeMs}, ${marks}
      from state.members;
    commit;
    checkpoint state;
    detach state`);
  await rename(file, checkpoint);
}

/**
 * Leaves `state` as a new file without the bytes of removed rows, which DuckDB keeps until it needs their place.
 * It takes about a second for each million users, so only a deletion is a reason for it.
 */
async function rewrite(connection: DuckDBConnection, copy: string): Promise<string> {
  const file = `${copy}.clean`;
  await connection.run(`attach ${quoted(file)} as clean`);
  for (const table of ['about', 'positions', 'members', 'everyone'])
    await connection.run(`create table clean.${table} as from state.${table}`);
  await connection.run(`detach state; detach clean; attach ${quoted(file)} as state`);
  return file;
}

async function read(
  checkpoint: string | undefined,
  copy: string,
  subject: CheckpointSubject,
): Promise<Map<number, number> | string> {
  if (checkpoint === undefined) return 'no folder for checkpoints is given';
  const isThere = await stat(checkpoint).then(
    () => true,
    () => false,
  );
  if (!isThere) return noneYet;
  try {
    await copyFile(checkpoint, copy, constants.COPYFILE_FICLONE);
    return await verify(copy, subject);
  } catch {
    return 'the checkpoint is damaged';
  }
}

/**
 * Reads whole rows, all of them: DuckDB verifies the checksum of a block only when it reads the block, and each
 * column has blocks of its own.
 */
async function verify(
  file: string,
  subject: CheckpointSubject,
): Promise<Map<number, number> | string> {
  const database = await openDatabase(file, `${file}.tmp`, [], 'READ_ONLY');
  try {
    const { connection } = database;
    if (!(await holdsTablesOnly(connection))) return 'the checkpoint is damaged';
    const about = await connection.runAndReadAll('select * from about');
    const [row = {}] = about.getRowObjects();
    if (row['version'] !== version || row['name'] !== subject.name)
      return 'the checkpoint is of another version or deployment';
    if (row['topic_id'] !== subject.topicId)
      return 'the checkpoint is of another topic of this name, in another cluster or from before it was created again';
    const [savedMs = NaN, saved] = await numbersOf(
      connection,
      'select saved_ms, members from about',
    );
    const [members] = await numbersOf(connection, 'select count(*), sum(hash(m)) from members m');
    await numbersOf(connection, 'select sum(hash(e)) from everyone e');
    if (members !== saved) return 'the checkpoint is damaged';
    const rows = (await connection.runAndReadAll('select part, next from positions')).getRows();
    const positions = new Map(rows.map(([part, next]) => [Number(part), Number(next)]));
    return whyUseless(savedMs, positions, subject) ?? positions;
  } finally {
    database.close();
  }
}

/** The topic that a checkpoint belongs to; undefined if the file is no checkpoint, or is damaged. */
export async function topicOfCheckpoint(file: string): Promise<string | undefined> {
  try {
    const database = await openDatabase(file, `${file}.tmp`, [], 'READ_ONLY');
    try {
      const { connection } = database;
      if (!(await holdsTablesOnly(connection))) return undefined;
      const [row] = (await connection.runAndReadAll('select name from about')).getRows();
      return /^(\S+) of \d+, /.exec(String(row?.[0]))?.[1];
    } finally {
      database.close();
    }
  } catch {
    return undefined;
  }
}

/** A view or a macro in the place of a table would be executed with the rights of this process. */
async function holdsTablesOnly(connection: DuckDBConnection): Promise<boolean> {
  const [others] = await numbersOf(
    connection,
    `select (select count(*) from duckdb_views() where not internal)
       + (select count(*) from duckdb_functions() where not internal)
       + (select count(*) from duckdb_indexes()) + (select count(*) from duckdb_types() where not internal)`,
  );
  return others === 0;
}

/** Undefined for a usable checkpoint. */
export function whyUseless(
  savedMs: number,
  positions: ReadonlyMap<number, number>,
  { ends, nowMs, maxAgeMs }: Pick<CheckpointSubject, 'ends' | 'nowMs' | 'maxAgeMs'>,
): string | undefined {
  if (!(savedMs <= nowMs)) return 'the checkpoint is from the future';
  if (nowMs - savedMs > maxAgeMs) return 'the checkpoint is too old';
  for (const [partition, end] of ends) {
    const position = positions.get(partition);
    if (position === undefined) return 'the checkpoint is of other partitions';
    if (position > end) return 'the topic was made again since';
  }
  return undefined;
}
