import { files } from './sql.ts';

/**
 * A file that COPY wrote in its text format, as columns c0, c1 of text. That format costs the server less
 * than CSV, and no line break is inside a cell. Its escapes:
 * https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export function copiedRows(file: string, columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index}`);
  const read = `read_csv(${[
    files([file]),
    'auto_detect = false',
    `columns = {${names.map((name) => `${name}: 'VARCHAR'`).join(', ')}}`,
    'header = false',
    `delim = '\t'`,
    `quote = ''`,
    `escape = ''`,
    `new_line = '\\n'`,
  ].join(', ')})`;
  return `(SELECT ${names.map((name) => `${unescaped(name)} AS ${name}`).join(', ')} FROM ${read})`;
}

/**
 * DuckDB skips an empty line unless that means NULL. So empty is read as NULL, and NULL as `\N`. PostgreSQL's
 * text has no NUL character, which therefore can replace an escaped backslash.
 */
function unescaped(cell: string): string {
  const placed = String.raw`replace(${cell}, '\\', chr(0))`;
  const controls = Object.entries({ b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 });
  const plain = controls.reduce(
    (text, [letter, code]) => `replace(${text}, '\\${letter}', chr(${code}))`,
    placed,
  );
  return String.raw`CASE
    WHEN ${cell} IS NULL THEN ''
    WHEN NOT contains(${cell}, '\') THEN ${cell}
    WHEN ${cell} <> '\N' THEN replace(${plain}, chr(0), '\') END`;
}
