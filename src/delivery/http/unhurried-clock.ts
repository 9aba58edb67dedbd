import type { SteadyClock } from '../../ops/clock.ts';

/**
 * A clock whose timers fire only after pending input was read. After a stall (a suspended machine, a used-up
 * share of CPU) Node may call overdue timers before it reads its sockets, and answers that came in time would
 * count as missing.
 */
export function unhurried(clock: SteadyClock): SteadyClock {
  return {
    now: () => clock.now(),
    steadyNow: () => clock.steadyNow(),
    after: (delayMs, callback) => {
      let afterReading: NodeJS.Immediate | undefined;
      const timer = clock.after(delayMs, () => {
        afterReading = setImmediate(callback);
      });
      return {
        cancel: () => {
          timer.cancel();
          clearImmediate(afterReading);
        },
      };
    },
  };
}
