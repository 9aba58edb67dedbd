import { isUtf8 } from 'node:buffer';
import type { FileRows, FileValues } from '../../resources/resource.ts';
import { splitLines } from '../../split-lines.ts';
import { jsonId, jsonValue } from './cells.ts';
import { openText } from './first-record.ts';
import type { Rows } from './rows.ts';
import { files, identifier, ownColumns, text } from './sql.ts';

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
export async function firstWrongLine(
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

export const noObject = 'is not a JSON object in UTF-8';

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
