import { asError } from '../errors.ts';

/** Why a request to Kafka failed. */
export interface KafkaFailure {
  /** Kafka's name of the error if it answered, otherwise that of kafkajs: a closed set, fit for a label. */
  readonly reason: string;
  readonly message: string;
}

/** @param detail what Kafka adds to the name */
export function failureNamed(reason: string, detail: string | null = null): KafkaFailure {
  return { reason, message: detail === null ? reason : `${reason}, ${detail}` };
}

/**
 * The failure of an error that was thrown. Errors of kafkajs are recognized by name, because their classes
 * cannot be imported from ES modules.
 */
export function failureOf(error: unknown): KafkaFailure {
  const root = rootCause(error);
  return { reason: typeof root.type === 'string' ? root.type : root.name, message: root.message };
}

/** kafkajs wraps the cause in "retries exceeded" or "not retriable". */
function rootCause(error: unknown): Error & { readonly type?: unknown } {
  let root: unknown = error;
  for (let depth = 0; depth < 5 && root instanceof Error; depth += 1) {
    if (!(root.cause instanceof Error) || 'type' in root) break;
    root = root.cause;
  }
  return asError(root);
}

/** The longest wait of Kafka's own clients, for what costs a broker a question. */
const longestWaitMs = 1_000;

/** The wait before the next request after so many failed ones: from 0.1 s, doubling to the longest, ± 20 %. */
export function backoffMs(
  failures: number,
  longestMs: number = longestWaitMs,
  random: () => number = Math.random,
): number {
  const waitMs = Math.min(100 * 2 ** Math.min(failures - 1, 10), longestMs);
  return waitMs * (0.8 + 0.4 * random());
}
