import { asError, PostriderError } from '../errors.ts';
import { KafkaAnswerError, type KafkaErrorName } from './protocol/errors.ts';

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

/** One line, without the stacks that kafkajs puts into messages elsewhere. */
export function reasonOf(error: unknown): string {
  const message = asError(error).message;
  return message.split('\n', 1)[0] ?? '';
}

const refusals: ReadonlySet<KafkaErrorName> = new Set<KafkaErrorName>([
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
]);

/** Kafka's ACLs refuse something to this principal: only a person can mend that. */
export function isRefusal(error: unknown): error is KafkaAnswerError {
  return error instanceof KafkaAnswerError && isRefused(error.type);
}

export function isRefused(error: KafkaErrorName | undefined): boolean {
  return error !== undefined && refusals.has(error);
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
  return rightBehind(failureOf(error), about);
}

/** The same for a failure that is known already. */
export function rightBehind({ reason }: KafkaFailure, about?: string): string | undefined {
  const resource = resourceOf[reason];
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
