import type { ClusterClient } from '../kafka/cluster/cluster.ts';
import type { TopicMetadata } from '../kafka/cluster/latest-metadata.ts';
import type { KafkaErrorName } from '../kafka/protocol/errors.ts';

/** A topic that takes no records, or not all. */
export interface UnwritableTopic {
  readonly topic: string;
  /** For people. */
  readonly problem: string;
}

/** The topics, of those given, that cannot be written now, even if an election is about to mend that. */
export async function readUnwritable(
  kafka: ClusterClient,
  topics: readonly string[],
): Promise<UnwritableTopic[]> {
  const cluster = kafka.openCluster();
  try {
    await cluster.refresh(topics);
    return topics.flatMap((topic) => {
      const problem = problemOf(cluster.topic(topic), cluster.topicError(topic));
      return problem === undefined ? [] : [{ topic, problem }];
    });
  } finally {
    cluster.close();
  }
}

function problemOf(
  known: TopicMetadata | undefined,
  error: KafkaErrorName | undefined,
): string | undefined {
  if (error === 'TOPIC_AUTHORIZATION_FAILED') return 'Kafka does not let this user see it';
  if (known === undefined) return 'it does not exist';
  const leaderless = [...known.partitions.keys()].filter(
    (partition) => (known.partitions[partition]?.leader ?? -1) < 0,
  );
  if (leaderless.length === 0) return undefined;
  const noun = leaderless.length === 1 ? 'partition' : 'partitions';
  return `${noun} ${leaderless.join(', ')} without a leader`;
}
