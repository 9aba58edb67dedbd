import type { KafkaErrorName } from '../protocol/errors.ts';

/**
 * The meaning of a partition's answer for the batch that was sent to it:
 * - `written`: it is on every in-sync replica
 * - `again`: the same bytes later; they may be in the log already, where their numbers tell
 * - `elsewhere`: again, and somebody else may be the leader
 * - `renew`: again, and the bytes are at fault, or their date, and not the records
 * - `condemned`: at least one record of it can never be written, and none is
 * - `forgotten`: the partition does not know the numbers before this one
 */
export type AnswerVerdict = 'written' | 'again' | 'elsewhere' | 'renew' | 'condemned' | 'forgotten';

/** Kafka's name of the error. `PartitionUnanswered`: the answer left the partition out. */
export type AnswerError = KafkaErrorName | 'PartitionUnanswered';

const verdicts = new Map<string, AnswerVerdict>([
  ['NONE', 'written'],
  ['DUPLICATE_SEQUENCE_NUMBER', 'written'],
  ['NOT_ENOUGH_REPLICAS', 'again'],
  ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'again'],
  ['REQUEST_TIMED_OUT', 'elsewhere'],
  ['TOPIC_AUTHORIZATION_FAILED', 'again'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'again'],
  ['CORRUPT_MESSAGE', 'renew'],
  ['INVALID_TIMESTAMP', 'renew'],
  ['MESSAGE_TOO_LARGE', 'condemned'],
  ['RECORD_LIST_TOO_LARGE', 'condemned'],
  ['INVALID_RECORD', 'condemned'],
  ['OUT_OF_ORDER_SEQUENCE_NUMBER', 'forgotten'],
  ['UNKNOWN_PRODUCER_ID', 'forgotten'],
  ['INVALID_PRODUCER_EPOCH', 'forgotten'],
] satisfies [AnswerError, AnswerVerdict][]);

/** A leader that has lost touch with the others is not told that they have elected another one. */
const unreplicated: ReadonlySet<string> = new Set<AnswerError>([
  'REQUEST_TIMED_OUT',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
]);

/** Tells whether a broker that answers so may have been replaced, and does not say so. */
export function isLeaderDoubted(error: string): boolean {
  return unreplicated.has(error);
}

/**
 * An unknown error is treated as an outage: repeating a hopeless request stops a partition visibly, and
 * dropping a good record cannot be undone.
 */
export function judgeAnswer(error: string): AnswerVerdict {
  return verdicts.get(error) ?? 'elsewhere';
}
