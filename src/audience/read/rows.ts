import { PostriderError } from '../../errors.ts';
import type { ValueType } from '../../resources/resource.ts';

/** A source that DuckDB can select from, and the meaning of its rows. */
export interface Rows {
  readonly source: string;
  readonly id: Cell;
  /** Missing for an audience. */
  readonly value?: Cell;
}

/**
 * The meaning of a cell, in SQL: `is` is its text, for a value its JSON, and NULL if there is none; `isOther`
 * is true if the content is neither.
 */
export interface Cell {
  readonly is: string;
  readonly isOther: string;
}

const wholeNumber = '-?[0-9]+';
const jsonNumber = '-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?';

/** For CSV, where everything is text and a missing cell is NULL. */
export function textId(cell: string): Cell {
  return { is: cell, isOther: 'false' };
}

/** For a column of JSON. DuckDB keeps integers of any length as they were written. */
export function jsonId(cell: string): Cell {
  const json = `${cell}::VARCHAR`;
  return {
    is: `CASE WHEN starts_with(${json}, '"') THEN ${cell}->>'$' WHEN ${matches(json, wholeNumber)} THEN ${json} END`,
    isOther: `NOT (starts_with(${json}, '"') OR ${matches(json, wholeNumber)})`,
  };
}

/** For a column of a known type: a DuckDB type such as `DECIMAL(20,0)`. */
export function typedId(cell: string, type: string): Cell {
  const isId = isText(type) || isInteger(type);
  return isId
    ? { is: `${cell}::VARCHAR`, isOther: 'false' }
    : { is: 'NULL::VARCHAR', isOther: `${cell} IS NOT NULL` };
}

/** For text that represents a number, which may not be a whole one. */
export function numericId(cell: string): Cell {
  const isWhole = matches(cell, wholeNumber);
  return { is: `CASE WHEN ${isWhole} THEN ${cell} END`, isOther: `NOT ${isWhole}` };
}

export function noId(cell: string): Cell {
  return { is: 'NULL::VARCHAR', isOther: `${cell} IS NOT NULL` };
}

/** For CSV: by the given type, otherwise a number, true or false if it looks like one. */
export function textValue(cell: string, type: ValueType | undefined): Cell {
  const asText = `to_json(${cell})::VARCHAR`;
  if (type === 'text') return { is: asText, isOther: 'false' };
  const isBoolean = `lower(${cell}) IN ('true', 'false')`;
  const branches = [
    ...(type === 'boolean' ? [] : [numberBranch(cell)]),
    ...(type === 'number' ? [] : [`WHEN ${isBoolean} THEN lower(${cell})`]),
  ];
  const is = `CASE ${branches.join(' ')} ${type === undefined ? `ELSE ${asText}` : ''} END`;
  return otherwise(is, cell);
}

/** For a text that is JSON. */
export function jsonValue(cell: string): Cell {
  const json = `${cell}::VARCHAR`;
  const is = `CASE WHEN starts_with(${json}, '"') OR ${json} IN ('true', 'false') THEN ${json} ${numberBranch(json)} END`;
  return otherwise(is, cell);
}

/** For a number written in JSON. A database writes numbers that JSON does not have as text. */
export function jsonNumberValue(cell: string): Cell {
  return otherwise(`CASE ${numberBranch(cell)} END`, cell);
}

export function typedValue(cell: string, type: string): Cell {
  const asText = `${cell}::VARCHAR`;
  if (isText(type)) return { is: `to_json(${asText})::VARCHAR`, isOther: 'false' };
  if (type === 'BOOLEAN') return { is: asText, isOther: 'false' };
  if (type === 'TIMESTAMP WITH TIME ZONE') {
    // As text, DuckDB writes such a time in the time zone of this machine.
    const inUtc = `(${cell} AT TIME ZONE 'UTC')::VARCHAR`;
    const iso = `CASE WHEN isfinite(${cell}) THEN replace(${inUtc}, ' ', 'T') || 'Z' ELSE ${asText} END`;
    return { is: `to_json(${iso})::VARCHAR`, isOther: 'false' };
  }
  if (/^(DATE|TIMESTAMP)/.test(type))
    return { is: `to_json(replace(${asText}, ' ', 'T'))::VARCHAR`, isOther: 'false' };
  if (isInteger(type) || /^(DECIMAL|FLOAT|DOUBLE)/.test(type))
    return otherwise(`CASE ${numberBranch(asText)} END`, cell);
  return { is: 'NULL::VARCHAR', isOther: `${cell} IS NOT NULL` };
}

function otherwise(is: string, cell: string): Cell {
  return { is, isOther: `${cell} IS NOT NULL AND (${is}) IS NULL` };
}

/**
 * One notation for each number, so that `1.50` after `1.5` is no change: no exponent, no zeros at the end of
 * a fraction, no minus before zero. Integers and decimals keep every digit.
 */
function numberBranch(cell: string): string {
  const double = `try_cast(${cell} AS DOUBLE)`;
  const exponent = `CASE WHEN isfinite(${double}) THEN regexp_replace(to_json(${double})::VARCHAR, '\\.0$', '') END`;
  const fraction = `rtrim(rtrim(${cell}, '0'), '.')`;
  const spelled = `CASE WHEN contains(lower(${cell}), 'e') THEN ${exponent} WHEN contains(${cell}, '.') THEN ${fraction} ELSE ${cell} END`;
  return `WHEN ${matches(cell, jsonNumber)} THEN CASE WHEN (${spelled}) = '-0' THEN '0' ELSE ${spelled} END`;
}

function matches(cell: string, pattern: string): string {
  return `regexp_full_match(${cell}, ${text(pattern)})`;
}

function isText(type: string): boolean {
  return type === 'VARCHAR' || type === 'UUID' || type.startsWith('ENUM(');
}

function isInteger(type: string): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(\d+,0\))$/.test(type);
}

/** Delimiters, other than the comma, that files have between their columns. */
const delimiters = [';', '\t', '|'];

/**
 * The existing names are not shown, because the file may be anything.
 * @throws PostriderError `input-invalid`
 */
export function columnIndex(
  columns: readonly string[],
  wanted: string | number,
  file: string,
): number {
  const index = typeof wanted === 'number' ? wanted - 1 : columns.indexOf(wanted);
  if (typeof wanted === 'string' && index >= 0 && columns.includes(wanted, index + 1))
    throw invalid(`${file} has the column ${wanted} twice; give each column its own name`);
  if (index >= 0 && index < columns.length) return index;
  const has = columns.length === 1 ? 'one column' : `${columns.length} columns`;
  throw invalid(`${file} has no column ${wanted}; it has ${has}${delimiterHint(columns)}`);
}

function delimiterHint([only = '', ...others]: readonly string[]): string {
  const between = others.length > 0 ? undefined : delimiters.find((each) => only.includes(each));
  if (between === undefined) return '';
  const count = only.split(between).length;
  return `, and ${count} with the delimiter ${JSON.stringify(between)}; set delimiter to that`;
}

function invalid(message: string): PostriderError {
  return new PostriderError('input-invalid', message);
}

export function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Files by their names, in which DuckDB would treat some characters as a glob. */
export function files(names: readonly string[]): string {
  return `[${names.map((name) => text(name.replace(/[*?[]/g, '[$&]'))).join(', ')}]`;
}

/** A column of the file wins over one that DuckDB would make of a folder's name, such as `tier=export`. */
export const ownColumns = 'hive_partitioning = false';
