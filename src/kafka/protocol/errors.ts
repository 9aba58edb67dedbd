/** Kafka's answers for one partition, group or request, by the protocol's own names. */
export type KafkaErrorName = keyof typeof codes | `ERROR_${number}`;

/**
 * The errors that this code depends on. Other codes are named by their number. @see
 * https://kafka.apache.org/protocol#protocol_error_codes
 */
const codes = {
  UNKNOWN_SERVER_ERROR: -1,
  NONE: 0,
  OFFSET_OUT_OF_RANGE: 1,
  CORRUPT_MESSAGE: 2,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  LEADER_NOT_AVAILABLE: 5,
  NOT_LEADER_FOR_PARTITION: 6,
  REQUEST_TIMED_OUT: 7,
  REPLICA_NOT_AVAILABLE: 9,
  MESSAGE_TOO_LARGE: 10,
  OFFSET_METADATA_TOO_LARGE: 12,
  NETWORK_EXCEPTION: 13,
  COORDINATOR_LOAD_IN_PROGRESS: 14,
  COORDINATOR_NOT_AVAILABLE: 15,
  NOT_COORDINATOR: 16,
  INVALID_TOPIC_EXCEPTION: 17,
  RECORD_LIST_TOO_LARGE: 18,
  NOT_ENOUGH_REPLICAS: 19,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 20,
  ILLEGAL_GENERATION: 22,
  INCONSISTENT_GROUP_PROTOCOL: 23,
  UNKNOWN_MEMBER_ID: 25,
  REBALANCE_IN_PROGRESS: 27,
  TOPIC_AUTHORIZATION_FAILED: 29,
  GROUP_AUTHORIZATION_FAILED: 30,
  CLUSTER_AUTHORIZATION_FAILED: 31,
  INVALID_TIMESTAMP: 32,
  OUT_OF_ORDER_SEQUENCE_NUMBER: 45,
  DUPLICATE_SEQUENCE_NUMBER: 46,
  INVALID_PRODUCER_EPOCH: 47,
  INVALID_PRODUCER_ID_MAPPING: 49,
  CONCURRENT_TRANSACTIONS: 51,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 53,
  KAFKA_STORAGE_ERROR: 56,
  UNKNOWN_PRODUCER_ID: 59,
  FENCED_LEADER_EPOCH: 74,
  UNKNOWN_LEADER_EPOCH: 75,
  OFFSET_NOT_AVAILABLE: 78,
  MEMBER_ID_REQUIRED: 79,
  INVALID_RECORD: 87,
  PRODUCER_FENCED: 90,
  UNKNOWN_TOPIC_ID: 100,
  INCONSISTENT_TOPIC_ID: 103,
} as const;

const names = new Map<number, KafkaErrorName>(
  Object.entries(codes).map(([name, code]) => [code, name as keyof typeof codes]),
);

export function errorName(code: number): KafkaErrorName {
  return names.get(code) ?? `ERROR_${code}`;
}

/** Like kafkajs's own errors, it has the name of the Kafka error as its `type`. */
export class KafkaAnswerError extends Error {
  override readonly name = 'KafkaAnswerError';
  readonly type: KafkaErrorName;

  constructor(type: KafkaErrorName, what: string) {
    super(`${what}: ${type}`);
    this.type = type;
  }
}
