import type { SteadyClock } from '../../ops/clock.ts';

/**
 * A clock whose timers let go first what has been waiting to be read. After a hold-up (a suspended machine,
 * a share of the processor that is used up) Node calls what is overdue before it reads its sockets, and
 * answers that came in time would count as none.
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
