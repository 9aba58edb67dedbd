import { readdir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { StatementType, type DuckDBConnection } from '@duckdb/node-api';
import { formatDuration } from '../../duration.ts';
import { asError, PostriderError } from '../../errors.ts';
import { isInside } from '../../resources/inside.ts';
import type { SqlRows } from '../../resources/resource.ts';
import { typedId, typedValue } from './cells.ts';
import type { Rows } from './rows.ts';

export interface QueryOptions {
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
  { sql }: SqlRows,
  { rows, folder, queryTimeoutMs }: QueryOptions,
  use: (rows: Rows) => Promise<T>,
): Promise<T> {
  await refuseLeavingLinks(folder);
  const workingFolder = process.cwd();
  process.chdir(folder);
  const timing = { isOver: false };
  const deadline = setTimeout(() => {
    timing.isOver = true;
    connection.interrupt();
  }, queryTimeoutMs);
  try {
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

async function describe(
  connection: DuckDBConnection,
  sql: string,
  rows: QueryOptions['rows'],
): Promise<Rows> {
  const statements = await connection.extractStatements(sql).catch(() => {
    throw invalid('the query is not SQL that DuckDB understands');
  });
  if (statements.count !== 1)
    throw invalid(`the query has ${statements.count} statements, allowed: one SELECT`);
  const statement = await statements.prepare(0);
  try {
    if (statement.statementType !== StatementType.SELECT)
      throw invalid('the query is no SELECT, allowed: one SELECT');
    const wanted = rows === 'members' ? 1 : 2;
    const { columnCount } = statement;
    if (columnCount !== wanted) {
      const should = rows === 'members' ? "one, the user's id" : "two, the user's id and the value";
      throw invalid(`the query returns ${columnCount} columns, allowed: ${should}`);
    }
    const source = `(SELECT * FROM (${sql.replace(/[;\s]+$/, '')}\n) AS picked(${rows === 'members' ? 'c0' : 'c0, c1'}))`;
    const id = typedId('c0', String(statement.columnType(0)));
    if (rows === 'members') return { source, id };
    return { source, id, value: typedValue('c1', String(statement.columnType(1))) };
  } finally {
    statement.destroySync();
  }
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
