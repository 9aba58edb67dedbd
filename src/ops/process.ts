import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

/** The release that runs: `--version` prints it, and metrics and the console show it. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  }
).version;

/**
 * Resolves at the first SIGINT or SIGTERM; the caller then drains and returns. A second signal ends the
 * process at once.
 */
export async function shutdownSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first = true;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (!first) process.exit(1);
      first = false;
      resolve(signal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

/**
 * Settings for a process that handles events all day, whose pauses are its slowest events.
 *
 * Pretenuring: a full collection finds records in flight alive. V8 concludes that objects made in the same
 * place live long, and makes them old from the start. Everything that they refer to then survives young
 * collections, and copying it is most of their pauses.
 *
 * Growth: full collections come as soon as old objects, and buffers outside the heap of any age, have grown
 * by 8 MB, which a busy role does in a second or two. Counted together and allowed three quarters more than
 * what is left after a collection, they rarely need one.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--external-memory-accounted-in-global-limit');
  setFlagsFromString('--heap-growing-percent=75');
}
