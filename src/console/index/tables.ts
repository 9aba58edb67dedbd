import {
  BIGINT,
  DuckDBDataChunk,
  INTEGER,
  UTINYINT,
  VARCHAR,
  type DuckDBConnection,
  type DuckDBType,
} from '@duckdb/node-api';

/** A column of a table, and what a row has in it. */
type Column<Row> = readonly [name: string, type: DuckDBType, of: (row: Row) => Value];
type Value = number | bigint | string | null;

export interface Table<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
}

/** DuckDB takes rows in pieces of so many. */
const chunkRows = 2_048;

export function createTableSql<Row>({ name, columns }: Table<Row>): string {
  const list = columns.map(([column, type]) => `${column} ${type.toString()}`);
  return `create table ${name} (${list.join(', ')})`;
}

/** Within the transaction that is open. */
export async function append<Row>(
  connection: DuckDBConnection,
  { name, columns }: Table<Row>,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return;
  const types = columns.map(([, type]) => type);
  const appender = await connection.createAppender(name);
  // One for all pieces: its memory is DuckDB's, which V8 does not see when it decides what to collect.
  const chunk = DuckDBDataChunk.create(types);
  for (let from = 0; from < rows.length; from += chunkRows) {
    const piece = rows.slice(from, from + chunkRows);
    chunk.reset();
    chunk.setColumns(columns.map(([, , of]) => piece.map(of)));
    appender.appendDataChunk(chunk);
    // Others have a turn.
    await new Promise(setImmediate);
  }
  appender.closeSync();
}

export const bigint: DuckDBType = BIGINT;
export const integer: DuckDBType = INTEGER;
export const tiny: DuckDBType = UTINYINT;
export const varchar: DuckDBType = VARCHAR;
