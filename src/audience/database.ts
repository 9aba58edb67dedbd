import path from 'node:path';
import { DuckDBInstance, type DuckDBConnection, type DuckDBDataChunk } from '@duckdb/node-api';

/**
 * DuckDB's share of the job's memory. What does not fit is written to the folder of temporary files. The rest
 * of a gigabyte is for Node, with batches of changes and fetched records.
 */
const limits = {
  memory_limit: '400MB',
  threads: '2',
  preserve_insertion_order: 'false',
  // Nothing is downloaded.
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

export interface Database {
  readonly connection: DuckDBConnection;
  close(): void;
}

/**
 * Opens a database that can read and write files only in some folders, which nothing can change later.
 * @param folder for data that does not fit into memory
 * @param folders whose files SQL may name; default: only those above `file` and `folder`
 */
export async function openDatabase(
  file: string,
  folder: string,
  folders: readonly string[] = [],
  access: 'READ_ONLY' | 'READ_WRITE' = 'READ_WRITE',
): Promise<Database> {
  const instance = await DuckDBInstance.create(file, {
    ...limits,
    access_mode: access,
    temp_directory: folder,
  });
  const connection = await instance.connect();
  const allowed = [path.dirname(file), folder, ...folders].map((name) => quoted(`${name}/`));
  await connection.run(`
    set allowed_directories = [${allowed.join(', ')}];
    set enable_external_access = false;
    set lock_configuration = true`);
  return {
    connection,
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** The one row of a query, whose columns are numbers. */
export async function numbersOf(connection: DuckDBConnection, sql: string): Promise<number[]> {
  const reader = await connection.runAndReadAll(sql);
  return (reader.getRows()[0] ?? []).map(Number);
}

/** The columns of a query, all of them text, in chunks of rows as they come. */
export async function* textColumns(
  connection: DuckDBConnection,
  sql: string,
): AsyncGenerator<(string | null)[][], void, undefined> {
  const result = await connection.stream(sql);
  const next = async (): Promise<DuckDBDataChunk | undefined> => {
    const chunk = await result.fetchChunk();
    return chunk === null || chunk.rowCount === 0 ? undefined : chunk;
  };
  let chunk = await next();
  try {
    for (; chunk !== undefined; chunk = await next())
      yield chunk.getColumns() as (string | null)[][];
  } finally {
    // A result that is not read to its end keeps the database open, with its files and its memory.
    if (chunk !== undefined) connection.interrupt();
    while (chunk !== undefined) chunk = await next().catch(() => undefined);
  }
}

/** Quotes a text for a statement. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
