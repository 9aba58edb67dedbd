import { PostriderError } from '../../errors.ts';
import type { FileRows, FileValues } from '../../resources/resource.ts';
import { textId, textValue } from './cells.ts';
import { columnIndex } from './columns.ts';
import { firstRecord } from './first-record.ts';
import type { Rows } from './rows.ts';
import { files, ownColumns, text } from './sql.ts';

/** Rows of CSV files. Files whose columns are in another order are read by their own header. */
export async function csvRows(
  names: readonly string[],
  from: FileRows | FileValues,
): Promise<readonly Rows[]> {
  const hasHeader = from.header !== false;
  const delimiter = from.delimiter ?? ',';
  const places: { file: string; columns: number; id: number; value: number | undefined }[] = [];
  for (const file of names) {
    const record = await firstRecord(file, delimiter);
    if (record === undefined && hasHeader)
      throw new PostriderError('input-invalid', `${file} is empty, without even a header`);
    if (record === undefined) continue;
    const find = (wanted: string | number): number => columnIndex(record, wanted, file);
    const value = 'value' in from ? find(from.value) : undefined;
    places.push({ file, columns: record.length, id: find(from.userId), value });
  }
  const alike = Map.groupBy(places, ({ columns, id, value }) => [columns, id, value].join());
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { columns, id, value } = first;
    const source = csvSource(
      group.map(({ file }) => file),
      { columns, hasHeader, delimiter },
    );
    const type = 'type' in from ? from.type : undefined;
    return [
      {
        source,
        id: textId(`c${id}`),
        ...(value === undefined ? undefined : { value: textValue(`c${value}`, type) }),
      },
    ];
  });
}

/**
 * Columns c0, c1, …, all text. No types are guessed, because DuckDB guesses from the first rows. A missing
 * cell is NULL, a quoted empty one is empty.
 */
function csvSource(
  names: readonly string[],
  given: { readonly columns: number; readonly hasHeader: boolean; readonly delimiter: string },
): string {
  const columns = Array.from({ length: given.columns }, (_, index) => `c${index}: 'VARCHAR'`);
  return `read_csv(${[
    files(names),
    'auto_detect = false',
    `columns = {${columns.join(', ')}}`,
    `header = ${given.hasHeader}`,
    `delim = ${text(given.delimiter)}`,
    `quote = '"'`,
    `escape = '"'`,
    'allow_quoted_nulls = false',
    ownColumns,
  ].join(', ')})`;
}
