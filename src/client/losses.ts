import { CallsLostError, type AnalyticsError, type AnalyticsErrorCode } from './error.ts';

interface Reason {
  readonly code: AnalyticsErrorCode;
  calls: number;
  /** The message of the first of these calls. */
  readonly message: string;
  hasOthers: boolean;
}

type Tally = Map<AnalyticsErrorCode, Reason>;

/**
 * The losses for callers that wait for a flush. Each loss is reported by every flush that is pending when it
 * happens, otherwise by the next one.
 */
export class Losses {
  #untold: Tally = new Map();
  readonly #waiting = new Set<Tally>();

  add(error: AnalyticsError): void {
    if (this.#waiting.size === 0) count(this.#untold, error);
    for (const tally of this.#waiting) count(tally, error);
  }

  /** @throws CallsLostError once `work` is done, if calls were lost meanwhile or before */
  async tellAfter(work: Promise<void>): Promise<void> {
    const tally = this.#untold;
    this.#untold = new Map();
    this.#waiting.add(tally);
    await work.finally(() => this.#waiting.delete(tally));
    if (tally.size > 0) throw callsLost([...tally.values()]);
  }
}

function count(tally: Tally, { code, message }: AnalyticsError): void {
  const reason = tally.get(code);
  if (reason === undefined) {
    tally.set(code, { code, calls: 1, message, hasOthers: false });
    return;
  }
  reason.calls += 1;
  reason.hasOthers ||= message !== reason.message;
}

/** `3 calls were lost: 2 refused (the endpoint answered 401: unknown write key), 1 queue-full.` */
function callsLost(reasons: readonly Reason[]): CallsLostError {
  const total = reasons.reduce((sum, { calls }) => sum + calls, 0);
  const parts = reasons.map(({ code, calls, message, hasOthers }) => {
    // For these two, the code says everything.
    if (code === 'queue-full' || code === 'closed') return `${calls} ${code}`;
    return `${calls} ${code} (${message}${hasOthers ? ', and others' : ''})`;
  });
  const were = total === 1 ? 'call was' : 'calls were';
  const lost = Object.fromEntries(reasons.map(({ code, calls }) => [code, calls]));
  return new CallsLostError(`${total} ${were} lost: ${parts.join(', ')}.`, lost);
}
