import type { DuckDBConnection } from '@duckdb/node-api';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { PostriderError } from '../../errors.ts';
import type { FileRows, FileValues, PostgresRows, SqlRows } from '../../resources/resource.ts';
import {
  columnIndex,
  jsonNumberValue,
  jsonValue,
  noId,
  numericId,
  textId,
  type Cell,
  type Rows,
} from './rows.ts';
import { copiedRows, copyRows, type CopiedColumns } from './postgres.ts';
import { csvRows, explainUnreadable, firstFields, ndjsonRows, parquetRows } from './formats.ts';
import { withQueryRows } from './duckdb-query.ts';
import { fillCurrent } from './fill-current.ts';
import { requireFresh, type Freshness } from './freshness.ts';
import { findFiles, type FoundFiles } from './find-files.ts';
import { withPlainCopies } from './plain-copies.ts';
import { describeLeftOut, type ReadReport } from './report.ts';

export interface ReadOptions extends Freshness {
  /** The columns that a query has to return: ids, or ids and values. */
  readonly rows: 'members' | 'values';
  /** The only folder that files are read from, after links are followed. */
  readonly folder: string;
  /** For one query of a database. */
  readonly queryTimeoutMs: number;
  /** Holds the data of a database, and copies of files, until they are in the table. */
  readonly tempFolder: string;
}

/**
 * Creates and fills the table `current(user_id VARCHAR, value VARCHAR)`: one row for each user, the
 * value as JSON, `true` for the members of an audience. Memory is the connection's own limit.
 * @param from the audience's `members` or the computed trait's `values`
 * @throws PostriderError `input-invalid`, which names file and line, column or what the server said;
 *   `database-unavailable`
 */
export async function readMembers(
  connection: DuckDBConnection,
  from: FileRows | FileValues | PostgresRows | SqlRows,
  options: ReadOptions,
): Promise<ReadReport> {
  const report =
    'postgres' in from
      ? await readPostgres(connection, from, options)
      : 'sql' in from
        ? await withQueryRows(connection, from, options, (rows) => fillCurrent(connection, [rows]))
        : await readFiles(connection, from, options);
  if (report.members === 0 && report.rows > 0)
    throw new PostriderError(
      'input-invalid',
      `none of the ${report.rows} rows can be used: ${describeLeftOut(report.leftOut)}`,
    );
  return report;
}

async function readFiles(
  connection: DuckDBConnection,
  from: FileRows | FileValues,
  options: ReadOptions,
): Promise<ReadReport> {
  const { folder, tempFolder } = options;
  const found = await findFiles(from, folder);
  const { expectedRows, writtenMs } = found;
  requireFresh(from.file, from.maxAge, writtenMs, options);
  const report = await withPlainCopies(found, tempFolder, async (plain) => {
    const rows = await rowsOf(connection, plain, from);
    const filled = await fillCurrent(connection, rows).catch((error: unknown) =>
      explainUnreadable(error, plain.files, plain.format),
    );
    if (plain.format === 'ndjson') await requireFields(filled, plain.files, from);
    return filled;
  });
  if (expectedRows !== undefined && report.rows !== expectedRows)
    throw new PostriderError(
      'input-invalid',
      `${from.file} has ${report.rows} rows, and ${from.complete ?? ''} says that it should have ${expectedRows}`,
    );
  return report;
}

/** In NDJSON, a wrong name looks like a field that every line leaves out. */
async function requireFields(
  { rows, leftOut }: ReadReport,
  files: readonly string[],
  from: FileRows | FileValues,
): Promise<void> {
  const [first = ''] = files;
  if (rows === 0 || (leftOut.nullIds !== rows && leftOut.nullValues !== rows)) return;
  const fields = await firstFields(first);
  columnIndex(
    fields,
    leftOut.nullIds === rows || !('value' in from) ? from.userId : from.value,
    first,
  );
}

async function rowsOf(
  connection: DuckDBConnection,
  { format, files }: FoundFiles,
  from: FileRows | FileValues,
): Promise<readonly Rows[]> {
  switch (format) {
    case 'csv':
      return csvRows(files, from);
    case 'ndjson':
      return ndjsonRows(files, from);
    case 'parquet':
      return parquetRows(connection, files, from);
  }
}

async function readPostgres(
  connection: DuckDBConnection,
  from: PostgresRows,
  options: ReadOptions,
): Promise<ReadReport> {
  const { rows, tempFolder, queryTimeoutMs } = options;
  await mkdir(tempFolder, { recursive: true });
  const folder = await mkdtemp(path.join(tempFolder, 'postgres-'));
  try {
    const file = path.join(folder, 'rows');
    const sink = createWriteStream(file, { mode: 0o600 });
    const columns = await copyRows(from, rows, sink, queryTimeoutMs, (atMs) => {
      requireFresh('the data', from.maxAge, atMs, options);
    });
    const source = copiedRows(file, rows === 'members' ? 1 : 2);
    return await fillCurrent(connection, [{ source, ...cellsOf(columns, rows) }]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function cellsOf(columns: CopiedColumns, rows: ReadOptions['rows']): Omit<Rows, 'source'> {
  const id = idCells[columns.id]('c0');
  if (rows === 'members') return { id };
  return { id, value: columns.valueIsNumber ? jsonNumberValue('c1') : jsonValue('c1') };
}

const idCells: Readonly<Record<CopiedColumns['id'], (cell: string) => Cell>> = {
  text: textId,
  numeric: numericId,
  other: noId,
};
