import { KafkaAnswerError } from '../protocol/errors.ts';
import type { Cluster } from './cluster.ts';

/**
 * The offsets of a topic's partitions from their leaders, by partition.
 * @param partitions all of the topic if not given
 * @throws KafkaAnswerError of the first partition without an answer; whatever the connection throws
 */
export async function listOffsets(
  cluster: Cluster,
  topic: string,
  timeMs: number,
  partitions?: readonly number[],
): Promise<Map<number, number>> {
  const known = cluster.topic(topic)?.partitions;
  if (known === undefined) {
    const error = cluster.topicError(topic) ?? 'UNKNOWN_TOPIC_OR_PARTITION';
    throw new KafkaAnswerError(error, `topic ${topic}`);
  }
  const byLeader = new Map<number, number[]>();
  for (const partition of partitions ?? known.keys()) {
    const leader = known[partition]?.leader ?? -1;
    if (leader < 0) throw new KafkaAnswerError('LEADER_NOT_AVAILABLE', nameOf(topic, partition));
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), partition]);
  }
  const answers = await Promise.all(
    Array.from(byLeader, ([leader, led]) =>
      cluster.listOffsets(leader, { topic, partitions: led, timeMs }),
    ),
  );
  const offsets = new Map<number, number>();
  for (const { partition, error, offset } of answers.flat()) {
    if (error !== 'NONE') throw new KafkaAnswerError(error, nameOf(topic, partition));
    offsets.set(partition, offset);
  }
  return offsets;
}

function nameOf(topic: string, partition: number): string {
  return `partition ${partition} of ${topic}`;
}
