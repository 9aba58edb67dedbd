import type { Clock } from '../ops/clock.ts';

/** Resolves after that time, or when the signal is aborted, so that Ctrl-C takes effect at once. */
export async function pause(clock: Clock, pauseMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resume) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resume();
    };
    const timer = clock.after(pauseMs, end);
    signal.addEventListener('abort', end);
  });
}
