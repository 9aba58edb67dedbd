import type { FileRows, RowFormat } from '../resource.ts';

const formats: readonly (readonly [RowFormat, RegExp])[] = [
  ['csv', /\.csv(?:\.gz)?$/i],
  ['ndjson', /\.(?:ndjson|jsonl)(?:\.gz)?$/i],
  ['parquet', /\.parquet$/i],
];

/** What the name of a file or the end of a glob tells; undefined where it tells nothing. */
function formatOfName(file: string): RowFormat | undefined {
  return formats.find(([, ending]) => ending.test(file))?.[0];
}

/** As given, else as the name tells; undefined for a folder, whose files will tell. */
export function formatOf({ file, format }: FileRows): RowFormat | undefined {
  return format ?? formatOfName(file);
}
