import { readdir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import {
  StatementType,
  type DuckDBConnection,
  type DuckDBPreparedStatement,
} from '@duckdb/node-api';
import { formatDuration } from '../../duration.ts';
import { asError, PostriderError } from '../../errors.ts';
import { isInside } from '../../resources/schema/texts.ts';
import type { SqlRows } from '../../resources/resource.ts';
import { typedId, typedValue, type Rows } from './rows.ts';
import { requireFresh, type Freshness } from './freshness.ts';

export interface QueryOptions extends Freshness {
  readonly rows: 'members' | 'values';
  /** The base of relative file names, and the only folder that can be read. */
  readonly folder: string;
  readonly queryTimeoutMs: number;
}

/**
 * Runs `use` with the rows of one `SELECT` over files, whose names are relative to `folder`. The database
 * allows it to read nothing else.
 * @throws PostriderError `input-invalid`, which never shows the content of a file
 */
export async function withQueryRows<T>(
  connection: DuckDBConnection,
  { sql, asOf, maxAge }: SqlRows,
  options: QueryOptions,
  use: (rows: Rows) => Promise<T>,
): Promise<T> {
  const { rows, folder, queryTimeoutMs } = options;
  await refuseLeavingLinks(folder);
  const workingFolder = process.cwd();
  process.chdir(folder);
  const timing = { isOver: false };
  const deadline = setTimeout(() => {
    timing.isOver = true;
    connection.interrupt();
  }, queryTimeoutMs);
  try {
    if (asOf !== undefined)
      requireFresh('the data', maxAge, await timeOf(connection, asOf), options);
    return await use(await describe(connection, sql, rows));
  } catch (error) {
    if (error instanceof PostriderError) throw error;
    if (!timing.isOver) throw invalid(`the query failed: ${explain(error)}`);
    const most = formatDuration(queryTimeoutMs);
    throw invalid(`the query took longer than AUDIENCE_QUERY_TIMEOUT (${most})`);
  } finally {
    clearTimeout(deadline);
    process.chdir(workingFolder);
  }
}

/** The time that a query for one returns; one without a time zone is in UTC. */
async function timeOf(connection: DuckDBConnection, asOf: string): Promise<number | undefined> {
  (await prepareSelect(connection, asOf)).destroySync();
  const sql = `SELECT (epoch(newest) * 1000)::DOUBLE FROM ${inside(asOf)} AS picked(newest)`;
  const [row] = (await connection.runAndReadAll(sql)).getRows();
  const [ms] = row ?? [];
  return typeof ms === 'number' ? ms : undefined;
}

async function describe(
  connection: DuckDBConnection,
  sql: string,
  rows: QueryOptions['rows'],
): Promise<Rows> {
  const statement = await prepareSelect(connection, sql);
  try {
    const wanted = rows === 'members' ? 1 : 2;
    const { columnCount } = statement;
    if (columnCount !== wanted) {
      const should = rows === 'members' ? "one, the user's id" : "two, the user's id and the value";
      throw invalid(`the query returns ${columnCount} columns, allowed: ${should}`);
    }
    const columns = rows === 'members' ? 'c0' : 'c0, c1';
    const source = `(SELECT * FROM ${inside(sql)} AS picked(${columns}))`;
    const id = typedId('c0', String(statement.columnType(0)));
    if (rows === 'members') return { source, id };
    return { source, id, value: typedValue('c1', String(statement.columnType(1))) };
  } finally {
    statement.destroySync();
  }
}

/** The only statement of a text, which has to read alone. */
async function prepareSelect(
  connection: DuckDBConnection,
  sql: string,
): Promise<DuckDBPreparedStatement> {
  const statements = await connection.extractStatements(sql).catch(() => {
    throw invalid('the query is not SQL that DuckDB understands');
  });
  if (statements.count !== 1)
    throw invalid(`the query has ${statements.count} statements, allowed: one SELECT`);
  const statement = await statements.prepare(0);
  if (statement.statementType === StatementType.SELECT) return statement;
  statement.destroySync();
  throw invalid('the query is no SELECT, allowed: one SELECT');
}

/** A query may end in a semicolon, or in a comment. */
function inside(query: string): string {
  return `(${query.replace(/[;\s]+$/, '')}\n)`;
}

/** The database follows links, and checks only names. */
async function refuseLeavingLinks(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isSymbolicLink()) continue;
    const link = path.join(entry.parentPath, entry.name);
    const target = await realpath(link).catch(async () =>
      path.resolve(entry.parentPath, await readlink(link)),
    );
    if (!isInside(folder, target))
      throw invalid(
        `${link} is a link out of AUDIENCE_FILES_DIR (${folder}); a query would follow it`,
      );
  }
}

/** Errors about the query itself. Others may quote the content of a file. */
const aboutTheQuery = /^(Parser|Binder|Catalog|Permission) Error/;

function explain(error: unknown): string {
  const [line = ''] = asError(error).message.split('\n');
  const [kind = ''] = line.split(':');
  // Candidates are names of columns in the file.
  return aboutTheQuery.test(line) ? line.replace(/\s*(Candidate|Did you mean).*$/, '') : kind;
}

function invalid(message: string): PostriderError {
  return new PostriderError('input-invalid', message);
}
