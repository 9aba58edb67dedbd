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
