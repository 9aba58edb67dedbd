import process from 'node:process';
import type { AcceptedCall } from './calls.ts';
import type { AnalyticsError } from './error.ts';

const quietMs = 1_000;

/**
 * For clients without `onError`: a warning as Node prints its own, at most one a second, because a
 * write key that is wrong loses every call.
 */
export function lossWarner(): (error: AnalyticsError, call: AcceptedCall) => void {
  let quietUntilMs = 0;
  let untold = 0;
  return (error, { type, messageId }) => {
    const now = Date.now();
    if (now < quietUntilMs) {
      untold += 1;
      return;
    }
    const more = untold === 0 ? '' : `, nor were ${untold} calls before`;
    warn(`${type} ${messageId} was not delivered${more}: ${error.message}`, error.code);
    quietUntilMs = now + quietMs;
    untold = 0;
  };
}

export function warn(message: string, code: string): void {
  process.emitWarning(message, { type: 'PostriderClientWarning', code });
}
