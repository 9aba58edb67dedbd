import type { FileRows, RowFormat } from '../resource.ts';

const formats: readonly (readonly [RowFormat, RegExp])[] = [
  ['csv', /\.csv(?:\.gz)?$/i],
  ['ndjson', /\.(?:ndjson|jsonl)(?:\.gz)?$/i],
  ['parquet', /\.parquet$/i],
];

/** The format that the name of a file or the end of a glob shows; undefined if it shows none. */
function formatOfName(file: string): RowFormat | undefined {
  return formats.find(([, ending]) => ending.test(file))?.[0];
}

/** The given format, otherwise that of the name; undefined for a folder, whose files show it. */
export function formatOf({ file, format }: FileRows): RowFormat | undefined {
  return format ?? formatOfName(file);
}
