import { setFlagsFromString } from 'node:v8';

/** For a process that handles events all day: next to nothing outlives its event, and pauses are latency. */
export function tuneGarbageCollection(): void {
  // A full collection finds what is in flight alive. V8 concludes that what is made in the same place lives
  // long and makes it old from the start; all that it refers to then outlives the young collections.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Left alone, V8 collects everything once the old generation has grown by a tenth or 8 MB. That is what
  // retries let go of in a second or two.
  setFlagsFromString('--heap-growing-percent=100');
}
