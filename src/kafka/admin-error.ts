import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../errors.ts';
import { failureOf } from './failure.ts';

const retryAfterMs = 200;

/** Answers that are temporary, and for how long they are treated so. */
export interface Unsettled {
  readonly forMs: number;
  readonly reasons: readonly string[];
}

/**
 * While any topic of the cluster has no leader yet, kafkajs fails to list them all, sometimes with a
 * TypeError because it swallowed the real error.
 */
export const elections: Unsettled = {
  forMs: 2_000,
  reasons: ['LEADER_NOT_AVAILABLE', 'TypeError'],
};

/** Repeats a request while the answer may be temporary. */
export async function retryWhileUnsettled<T>(
  question: () => Promise<T>,
  { forMs, reasons }: Unsettled = elections,
): Promise<T> {
  const untilMs = performance.now() + forMs;
  for (;;) {
    try {
      return await question();
    } catch (error) {
      if (!reasons.includes(failureOf(error).reason) || performance.now() > untilMs) throw error;
      await delay(retryAfterMs);
    }
  }
}

const resourceOf: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED: 'topic',
  GROUP_AUTHORIZATION_FAILED: 'group',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'transactional id',
  CLUSTER_AUTHORIZATION_FAILED: 'cluster',
};

/**
 * The sentence for a right that this principal lacks; undefined for any other error.
 * @param about names of what was requested, one of which the right is for
 */
export function refusedRight(error: unknown, about?: string): string | undefined {
  const resource = resourceOf[failureOf(error).reason];
  if (resource === undefined) return undefined;
  const which = about === undefined ? `a ${resource}` : `${resource} ${about}`;
  return `Kafka's ACLs refuse this principal what it needs of ${which}`;
}

/**
 * Turns an error of kafkajs or of a `Cluster` into a PostriderError.
 * @param about the topic or group of the request
 */
export function adminError(error: unknown, about?: string): PostriderError {
  if (error instanceof PostriderError) return error;
  const { reason, message } = failureOf(error);
  if (reason === 'UNKNOWN_TOPIC_OR_PARTITION') {
    return new PostriderError(
      'not-found',
      about === undefined ? 'A topic does not exist' : `Topic ${about} does not exist`,
      { cause: error },
    );
  }
  const right = refusedRight(error, about);
  if (right !== undefined) return new PostriderError('kafka-refused', right, { cause: error });
  // kafkajs's own errors are about reaching a broker. Kafka's answers have names in capitals.
  const isUnreached = reason.startsWith('KafkaJS') && reason !== 'KafkaJSAggregateError';
  if (isUnreached || reason === 'NoAnswer') {
    return new PostriderError('kafka-unavailable', `Kafka cannot be reached: ${message}`, {
      cause: error,
    });
  }
  const details = detailsOf(error) ?? message;
  const what = about === undefined ? '' : ` for ${about}`;
  return new PostriderError('kafka-refused', `Kafka refused${what}: ${details}`, { cause: error });
}

/** The problem of each topic, for a request about several. */
function detailsOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('errors' in error)) return undefined;
  return (error.errors as readonly { topic?: string; message: string }[])
    .map(({ topic, message }) => (topic === undefined ? message : `${topic}: ${message}`))
    .join('; ');
}
