import { PostriderError } from '../../errors.ts';

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
  if (index >= 0 && index < columns.length) return index;
  const has = columns.length === 1 ? 'one column' : `${columns.length} columns`;
  throw new PostriderError('input-invalid', `${file} has no column ${wanted}; it has ${has}`);
}
