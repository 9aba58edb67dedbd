import { KafkaAnswerError, type KafkaErrorName } from './protocol/errors.ts';

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

const firstPauseMs = 1_000;
const longestPauseMs = 15_000;

/** Before what was refused so many times in a row is asked for again. */
export function refusalPauseMs(times: number): number {
  return Math.min(firstPauseMs * 2 ** (times - 1), longestPauseMs);
}
