/** Why a call to write records failed, and what that means for them. */
export interface ProduceFailure {
  /** Kafka's name of the error where it answered, else kafkajs's: a closed set, fit for a label. */
  readonly reason: string;
  readonly message: string;
  /** At least one of the records can never be written. Else the same call may succeed later. */
  readonly condemns: boolean;
  /** What kafkajs holds is dead although it looks open, or is out of date: only a new connection helps. */
  readonly needsReconnect: boolean;
}

/**
 * Only these say something about the records themselves. Whatever is not known here is taken for an
 * outage: repeating a hopeless call holds a partition up where it can be seen, and dropping a good
 * record cannot be mended.
 */
const condemning = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD']);
const reconnecting = new Set(['KafkaJSRequestTimeoutError', 'NoAnswer', 'PartitionUnanswered']);

/** kafkajs's errors are told by name: its classes cannot be imported from ES modules. */
export function failureOf(error: unknown): ProduceFailure {
  const root = rootCause(error);
  const reason = typeof root.type === 'string' ? root.type : root.name;
  return {
    reason,
    message: root.message,
    condemns: condemning.has(reason),
    needsReconnect: reconnecting.has(reason),
  };
}

/** kafkajs wraps what happened in "retries exceeded" or "not retriable". */
function rootCause(error: unknown): Error & { readonly type?: unknown } {
  let root: unknown = error;
  for (let depth = 0; depth < 5 && root instanceof Error; depth += 1) {
    if (!(root.cause instanceof Error) || 'type' in root) break;
    root = root.cause;
  }
  return root instanceof Error ? root : new Error(String(root));
}

/** The wait before the next call, after so many failed ones: from 0.1 s doubling to 5 s, ± 20 %. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const waitMs = Math.min(100 * 2 ** Math.min(failures - 1, 10), 5_000);
  return waitMs * (0.8 + 0.4 * random());
}
