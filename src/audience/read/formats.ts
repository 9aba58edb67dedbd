import { isUtf8 } from 'node:buffer';
import type { DuckDBConnection } from '@duckdb/node-api';
import { PostriderError } from '../../errors.ts';
import type { FileRows, FileValues, RowFormat } from '../../resources/resource.ts';
import { splitLines } from '../../split-lines.ts';
import { firstRecord, openText } from './first-record.ts';
import {
  columnIndex,
  files,
  identifier,
  jsonId,
  jsonValue,
  ownColumns,
  text,
  textId,
  textValue,
  typedId,
  typedValue,
  type Rows,
} from './rows.ts';

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

/** Rows of NDJSON files: a line is an object, a missing field counts as null. */
export function ndjsonRows(names: readonly string[], from: FileRows | FileValues): readonly Rows[] {
  const fields = [from.userId, ...('value' in from ? [from.value] : [])];
  const distinct = [...new Set(fields.map(String))];
  const columns = distinct.map((field) => `${text(field)}: 'JSON'`);
  const picked = fields.map((field, index) => `${identifier(String(field))} AS c${index}`);
  const json = `read_json(${files(names)}, format = 'newline_delimited', records = true, columns = {${columns.join(', ')}}, ${ownColumns})`;
  return [
    {
      source: `(SELECT ${picked.join(', ')} FROM ${json})`,
      id: jsonId('c0'),
      ...('value' in from ? { value: jsonValue('c1') } : undefined),
    },
  ];
}

/** DuckDB takes no longer ones: twice its `maximum_object_size`. */
const maxLineBytes = 32 * 1024 * 1024;

/** The number of the first line that cannot be read, from 1, and what is wrong; undefined if all can. */
async function firstWrongLine(
  file: string,
): Promise<{ readonly number: number; readonly reason: string } | undefined> {
  for await (const lines of splitLines(openText(file), maxLineBytes)) {
    for (const { number, bytes } of lines) {
      if (bytes.length > maxLineBytes) return { number, reason: 'is longer than 32 MB' };
      if (!isBlank(bytes) && fieldsOf(bytes) === undefined) return { number, reason: noObject };
    }
  }
  return undefined;
}

const noObject = 'is not a JSON object in UTF-8';

/** The fields of a file's first object. */
export async function firstFields(file: string): Promise<readonly string[]> {
  for await (const lines of splitLines(openText(file), maxLineBytes)) {
    const first = lines.find(({ bytes }) => !isBlank(bytes));
    if (first !== undefined) return fieldsOf(first.bytes) ?? [];
  }
  return [];
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte <= 0x20);
}

function fieldsOf(line: Buffer): readonly string[] | undefined {
  if (!isUtf8(line)) return undefined;
  try {
    const json: unknown = JSON.parse(line.toString());
    if (typeof json !== 'object' || Array.isArray(json)) return undefined;
    return json === null ? [] : Object.keys(json);
  } catch {
    return undefined;
  }
}

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

/**
 * Throws DuckDB's error as a sentence with the file and, if possible, the line. The content of the line is
 * not shown.
 * @throws PostriderError `input-invalid`
 */
export async function explainUnreadable(
  error: unknown,
  files: readonly string[],
  format: RowFormat,
): Promise<never> {
  if (!(error instanceof Error) || error instanceof PostriderError) throw error;
  const { message } = error;
  const file = files.find((name) => message.includes(name)) ?? files.join(', ');
  if (/^(Out of Memory|IO) Error/.test(message) && !message.includes(file)) throw error;
  if (format === 'ndjson') {
    const wrong = await firstWrongLine(file).catch(() => undefined);
    throw invalid(
      wrong === undefined ? `${file}: ${noObject}` : `${file}:${wrong.number}: ${wrong.reason}`,
    );
  }
  if (format === 'parquet')
    throw invalid(
      /string encoding/i.test(message)
        ? `${file} has bytes in a column that are no text, such as a UUID of 16 bytes; write them as text, or with the logical type UUID`
        : `${file} is not a whole Parquet file`,
    );
  const line = /CSV Error on Line: (\d+)/.exec(message)?.[1];
  const reason = csvReasons.find(([pattern]) => pattern.test(message))?.[1] ?? 'is not valid CSV';
  throw invalid(`${line === undefined ? file : `${file}:${line}`}: ${reason}`);
}

const csvReasons: readonly (readonly [RegExp, string])[] = [
  [/Expected Number of Columns/, 'has more or fewer columns than the first line'],
  [/unterminated quote/i, 'has a quote that is not closed, or one inside an unquoted cell'],
  [/not utf-8|invalid unicode/i, 'is not UTF-8'],
  [/line size/i, 'is longer than 2 MB'],
  [/invalid state/, 'is not valid CSV: a quote is not closed, or line ends are mixed'],
];

function invalid(message: string): PostriderError {
  return new PostriderError('input-invalid', message);
}
