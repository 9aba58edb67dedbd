import process from 'node:process';
import { environment } from '../environment.ts';
import type { AcceptedCall } from './calls.ts';
import type { Clock } from './clock.ts';
import type { AnalyticsError, AnalyticsErrorCode } from './errors.ts';

const quietMs = 60_000;

/** Calls with the same reason, since the last warning. */
interface Untold {
  calls: number;
  /** The message of the latest loss. */
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

/** Longer than a restart of the endpoint takes. By then there were six attempts or more. */
const tellAfterMs = 10_000;

interface OutageWarnerOptions {
  readonly clock: Pick<Clock, 'steadyNow'>;
  readonly warn: (message: string, code: string) => void;
}

/**
 * Warns once in an outage that nothing is delivered: attempts go on without end, and a wrong port in the
 * endpoint would otherwise stay unnoticed.
 */
export class OutageWarner {
  readonly #options: OutageWarnerOptions;
  /** Undefined while nothing has failed since the last delivery. */
  #failingSinceMs: number | undefined;
  #isTold = false;

  constructor(options: OutageWarnerOptions) {
    this.#options = options;
  }

  failed(reason: string): void {
    const { clock, warn } = this.#options;
    const nowMs = clock.steadyNow();
    this.#failingSinceMs ??= nowMs;
    const failingMs = nowMs - this.#failingSinceMs;
    if (this.#isTold || failingMs < tellAfterMs) return;
    this.#isTold = true;
    const seconds = Math.round(failingMs / 1_000);
    warn(
      `No call could be delivered for ${seconds} s; they wait and are sent again. The last failure: ${reason}`,
      'outage',
    );
  }

  delivered(): void {
    this.#failingSinceMs = undefined;
    this.#isTold = false;
  }
}

export type DebugLog = (line: string) => void;

/** With `DEBUG=analytics` in the environment (a list of names, or `*`), lines on stderr. */
export function debugLog(): DebugLog | undefined {
  if (!isNamed(environment['DEBUG'] ?? '')) return undefined;
  return (line) => {
    process.stderr.write(`analytics ${new Date().toISOString()} ${line}\n`);
  };
}

export function isNamed(debug: string): boolean {
  return debug.split(/[\s,]+/).some((name) => name === 'analytics' || name === '*');
}
