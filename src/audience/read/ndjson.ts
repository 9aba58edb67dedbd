import { createInterface } from 'node:readline';
import type { FileRows, FileValues } from '../../resources/resource.ts';
import { jsonId, jsonValue } from './cells.ts';
import { openText } from './first-record.ts';
import type { Rows } from './rows.ts';
import { files, identifier, text } from './sql.ts';

/** Rows of NDJSON files: a line is an object, a missing field counts as null. */
export function ndjsonRows(names: readonly string[], from: FileRows | FileValues): readonly Rows[] {
  const fields = [from.userId, ...('value' in from ? [from.value] : [])];
  const distinct = [...new Set(fields.map(String))];
  const columns = distinct.map((field) => `${text(field)}: 'JSON'`);
  const picked = fields.map((field, index) => `${identifier(String(field))} AS c${index}`);
  const json = `read_json(${files(names)}, format = 'newline_delimited', records = true, columns = {${columns.join(', ')}})`;
  return [
    {
      source: `(SELECT ${picked.join(', ')} FROM ${json})`,
      id: jsonId('c0'),
      ...('value' in from ? { value: jsonValue('c1') } : undefined),
    },
  ];
}

/** The number of the first line that is no object, from 1; undefined if all are. */
export async function firstWrongLine(file: string): Promise<number | undefined> {
  let number = 0;
  for await (const line of createInterface({ input: openText(file), crlfDelay: Infinity })) {
    number += 1;
    if (line.trim() !== '' && fieldsOf(line) === undefined) return number;
  }
  return undefined;
}

/** The fields of a file's first object. */
export async function firstFields(file: string): Promise<readonly string[]> {
  for await (const line of createInterface({ input: openText(file), crlfDelay: Infinity }))
    if (line.trim() !== '') return fieldsOf(line) ?? [];
  return [];
}

function fieldsOf(line: string): readonly string[] | undefined {
  try {
    const json: unknown = JSON.parse(line);
    if (typeof json !== 'object' || Array.isArray(json)) return undefined;
    return json === null ? [] : Object.keys(json);
  } catch {
    return undefined;
  }
}
