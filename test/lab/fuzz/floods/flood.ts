import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What a flood came to. */
export interface FloodResult {
  /** A sentence with its figures. */
  readonly text: string;
  readonly problems: readonly string[];
}

/** Bytes that are still used after full collections: on the heap, and in buffers. */
export async function usedBytes(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Runs so many at a time; `next` returns undefined when there are no more. */
export async function inParallel(
  width: number,
  next: () => Promise<void> | undefined,
): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let task = next(); task !== undefined; task = next()) await task;
  };
  await Promise.all(Array.from({ length: width }, lane));
}

export function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}

/** `200 3,141 times, 400 59 times` */
export function counted(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, count]) => `${what} ${count.toLocaleString('en-US')} times`)
    .join(', ');
}
