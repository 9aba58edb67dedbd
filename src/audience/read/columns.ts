import { PostriderError } from '../../errors.ts';

/** More would be no help in a sentence. */
const maxShown = 40;

/** @throws PostriderError `input-invalid`, which names the columns that there are. */
export function columnIndex(
  columns: readonly string[],
  wanted: string | number,
  file: string,
): number {
  const index = typeof wanted === 'number' ? wanted - 1 : columns.indexOf(wanted);
  if (index >= 0 && index < columns.length) return index;
  const more = columns.length > maxShown ? ` and ${columns.length - maxShown} more` : '';
  const has =
    typeof wanted === 'number'
      ? `it has ${columns.length}`
      : `it has ${columns.slice(0, maxShown).join(', ')}${more}`;
  throw new PostriderError('input-invalid', `${file} has no column ${wanted}; ${has}`);
}
