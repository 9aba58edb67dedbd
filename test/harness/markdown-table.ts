/** Of the rule under a column's name. */
const minColumnWidth = 3;

/** As Markdown, with columns as wide as Prettier makes them: names to the left, figures to the right. */
export function tableText({
  columns,
  rows,
}: {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}): string {
  const widths = columns.map((column, at) =>
    Math.max(minColumnWidth, column.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => aligned(cells[at] ?? '', at, width)).join(' | ')} |`;
  const rule = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(columns), line(rule), ...rows.map(line)].join('\n');
}

function aligned(cell: string, column: number, width: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
