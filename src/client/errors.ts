/**
 * - `invalid-option`: the constructor, or `close()`, got an option that it cannot work with.
 * - `invalid-call`: a required field is missing, or a field has the wrong type.
 * - `unserializable`: the call holds a value that JSON cannot express (a BigInt, a cycle, a getter or
 *   `toJSON` that throws). The value's own error is the `cause`.
 * - `too-large`: the call has more than 32 KB as JSON, is nested deeper than 64 levels, or has an id of more than 1 KB.
 * - `queue-full`: `maxQueued` calls waited already, so the call was lost.
 * - `closed`: the call came after `close()`, and was lost.
 * - `refused`: the endpoint, or Kafka, refused the call for good.
 * - `not-delivered`: the time that `close()` was given is over.
 * - `no-kafkajs`: the Kafka transport needs the package kafkajs, or for a registry
 *   @kafkajs/confluent-schema-registry, which cannot be loaded. Where that may pass (too many open files), calls wait.
 * - `calls-lost`: calls were lost before a `flush()` or `close()` ended. See `CallsLostError`.
 */
export type AnalyticsErrorCode =
  | 'invalid-option'
  | 'invalid-call'
  | 'unserializable'
  | 'too-large'
  | 'queue-full'
  | 'closed'
  | 'refused'
  | 'not-delivered'
  | 'no-kafkajs'
  | 'calls-lost';

/** Every error that the library throws, rejects with or passes to `onError`. */
export class AnalyticsError extends Error {
  override readonly name: string = 'AnalyticsError';
  readonly code: AnalyticsErrorCode;

  constructor(code: AnalyticsErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error that `flush()` and `close()` reject with. */
export class CallsLostError extends AnalyticsError {
  override readonly name: string = 'CallsLostError';
  /** Number of lost calls, by the code of the error that `onError` got for each. */
  readonly lost: Readonly<Partial<Record<AnalyticsErrorCode, number>>>;

  constructor(message: string, lost: CallsLostError['lost']) {
    super('calls-lost', message);
    this.lost = lost;
  }
}

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
