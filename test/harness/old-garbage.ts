import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** A full collection, or a young one. */
export const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

/**
 * How much the old generation grows while `churn` is called many times, after a full collection in its
 * middle. What is garbage at the end of each call ought to be gone with the next young collection.
 */
export function oldGarbageBytes(churn: () => void): number {
  churn();
  collect();
  const before = oldBytes();
  for (let round = 0; round < 50; round += 1) {
    churn();
    collect({ type: 'minor' });
    collect({ type: 'minor' });
  }
  return oldBytes() - before;
}

function oldBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return space?.space_used_size ?? NaN;
}
