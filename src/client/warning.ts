import process from 'node:process';
import type { AcceptedCall } from './calls.ts';
import type { AnalyticsError, AnalyticsErrorCode } from './error.ts';

const quietMs = 60_000;

/** Calls with the same reason, since the last warning. */
interface Untold {
  calls: number;
  /** Of the latest. */
  message: string;
}

/**
 * For clients without `onError`: a warning for the first lost call of each reason, because a wrong write key
 * loses every call, and one a minute with the number of further ones.
 */
export function lossWarner(): (error: AnalyticsError, call: AcceptedCall) => void {
  const reasons = new Map<AnalyticsErrorCode, Untold>();
  return ({ code, message }, { type, messageId }) => {
    const known = reasons.get(code);
    if (known !== undefined) {
      known.calls += 1;
      known.message = message;
      return;
    }
    warn(`${type} ${messageId} was lost: ${message}`, code);
    const untold: Untold = { calls: 0, message };
    reasons.set(code, untold);
    const minutes = setInterval(() => {
      if (untold.calls > 0) {
        const calls = untold.calls === 1 ? '1 more call was' : `${untold.calls} more calls were`;
        warn(`${calls} lost: ${untold.message}`, code);
        untold.calls = 0;
        return;
      }
      clearInterval(minutes);
      reasons.delete(code);
    }, quietMs);
    // The timer does not keep the process alive.
    minutes.unref();
  };
}

export function warn(message: string, code: string): void {
  process.emitWarning(message, { type: 'PostriderClientWarning', code });
}
