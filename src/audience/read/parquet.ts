import type { DuckDBConnection } from '@duckdb/node-api';
import type { FileRows, FileValues } from '../../resources/resource.ts';
import { typedId, typedValue } from './cells.ts';
import { columnIndex } from './columns.ts';
import type { Rows } from './rows.ts';
import { files, identifier, ownColumns } from './sql.ts';
import { explainUnreadable } from './unreadable.ts';

/** Rows of Parquet files. DuckDB would use the first file's types for all, and read `007` as 7. */
export async function parquetRows(
  connection: DuckDBConnection,
  names: readonly string[],
  from: FileRows | FileValues,
): Promise<readonly Rows[]> {
  const typed: { file: string; idType: string; valueType: string | undefined }[] = [];
  for (const file of names) {
    const types = await columnTypes(connection, file).catch((error: unknown) =>
      explainUnreadable(error, [file], 'parquet'),
    );
    const typeOf = (wanted: string | number): string =>
      types[
        columnIndex(
          types.map(([name]) => name),
          wanted,
          file,
        )
      ]?.[1] ?? '';
    const valueType = 'value' in from ? typeOf(from.value) : undefined;
    typed.push({ file, idType: typeOf(from.userId), valueType });
  }
  const alike = Map.groupBy(typed, ({ idType, valueType }) => `${idType}\n${String(valueType)}`);
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const source = parquetSource(group.map(({ file }) => file));
    const id = typedId(identifier(String(from.userId)), first.idType);
    if (!('value' in from)) return [{ source, id }];
    const value = typedValue(identifier(String(from.value)), first.valueType ?? '');
    return [{ source, id, value }];
  });
}

async function columnTypes(
  connection: DuckDBConnection,
  file: string,
): Promise<readonly (readonly [name: string, type: string])[]> {
  const described = await connection.runAndReadAll(
    `SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${parquetSource([file])})`,
  );
  return described.getRowsJson() as [string, string][];
}

function parquetSource(names: readonly string[]): string {
  // Older writers do not mark text as text.
  return `read_parquet(${files(names)}, binary_as_string = true, ${ownColumns})`;
}
