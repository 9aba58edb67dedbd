import { PostriderError } from '../../errors.ts';

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
