import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';

/**
 * DuckDB's share of the job's memory: what does not fit is written to the folder of temporary files. The
 * rest of a gigabyte is Node's, with batches of changes and fetched records.
 */
const limits = {
  memory_limit: '400MB',
  threads: '2',
  preserve_insertion_order: 'false',
  // Nothing is ever downloaded.
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

export interface Database {
  readonly connection: DuckDBConnection;
  close(): void;
}

/** `folder`: for what does not fit into memory. */
export async function openDatabase(
  file: string,
  folder: string,
  access: 'READ_ONLY' | 'READ_WRITE' = 'READ_WRITE',
): Promise<Database> {
  const instance = await DuckDBInstance.create(file, {
    ...limits,
    access_mode: access,
    temp_directory: folder,
  });
  const connection = await instance.connect();
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

/** A query's columns, all of them text, a chunk of rows at a time as they come. */
export async function* textColumns(
  connection: DuckDBConnection,
  sql: string,
): AsyncGenerator<(string | null)[][], void, undefined> {
  const result = await connection.stream(sql);
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    yield chunk.getColumns() as (string | null)[][];
  }
}

/** As part of a statement. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
