import { printable } from '../printable.ts';

/** A column does not get narrower than this for the sake of others. */
const narrowest = 8;

/**
 * Aligned columns for a terminal, which obeys nothing in them; empty cells as `-`; without a final line break.
 * @param width what a line may take: the widest columns are cut to it. Default: the terminal, and no end
 * where stdout is none, because a program or a file gets everything.
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
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const widths = fitted(wanted, width);
  return lines
    .map((line) =>
      line.map((cell, column) => cut(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0)),
    )
    .map((line) => line.join('  ').trimEnd())
    .join('\n');
}

/** Takes from whichever is the widest, as long as the line is too long. */
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
