import { printable } from '../printable.ts';

/** A column is not made narrower than this for the sake of others. */
const narrowest = 8;

/**
 * Aligned columns with escaped text; empty cells as `-`; without a final line break.
 * @param width of a line; the widest columns are cut to fit. Default: the terminal's width, and no limit if
 * stdout is not a terminal, because a program or a file gets everything.
 */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width: number = process.stdout.isTTY ? process.stdout.columns : Infinity,
): string {
  const lines = [
    head,
    ...rows.map((row) => row.map((cell) => (cell === '' ? '-' : printable(cell)))),
  ];
  const wanted = head.map((_, column) =>
    // Not as arguments of one call, of which V8 allows about 120,000.
    lines.reduce((most, line) => Math.max(most, line[column]?.length ?? 0), 0),
  );
  const widths = fitted(wanted, width);
  return lines
    .map((line) =>
      line.map((cell, column) => cut(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0)),
    )
    .map((line) => line.join('  ').trimEnd())
    .join('\n');
}

/** Takes width from the widest column, as long as the line is too long. */
function fitted(wanted: readonly number[], width: number): readonly number[] {
  const widths = [...wanted];
  const gaps = 2 * (widths.length - 1);
  let tooLong = widths.reduce((sum, each) => sum + each, gaps) - width;
  for (; tooLong > 0 && Math.max(...widths) > narrowest; tooLong -= 1) {
    const widest = Math.max(...widths);
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}
