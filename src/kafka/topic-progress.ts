import { PostriderError } from '../errors.ts';
import { adminError, failureOf, isRefusal } from './failure.ts';
import {
  earliestTime,
  latestTime,
  listOffsets,
  type Cluster,
  type ClusterClient,
} from './cluster/cluster.ts';
import { Coordinator } from './consume/coordinator.ts';
import { KafkaAnswerError } from './protocol/errors.ts';

/** Positions in a topic, summed over its partitions. */
export interface Progress {
  /** Written so far. */
  readonly end: number;
  /** Finished by the group so far. */
  readonly finished: number;
}

/** The progress of a topic, written and finished by a group, for one who looks often: the connections stay open. */
export class TopicProgress {
  readonly #topic: string;
  readonly #cluster: Cluster;
  readonly #coordinator: Coordinator;
  /** The partitions, and who leads them, as they are for the next look. */
  #known: Promise<void> | undefined;

  constructor(kafka: ClusterClient, topic: string, groupId: string) {
    this.#topic = topic;
    this.#cluster = kafka.openCluster();
    this.#coordinator = new Coordinator(this.#cluster, groupId);
  }

  /** @throws PostriderError `kafka-refused` without a right; `kafka-unavailable` for whatever may pass */
  async look(): Promise<Progress> {
    try {
      await (this.#known ??= this.#refresh());
      const progress = await this.#sum();
      this.#known = this.#refresh();
      // The next look finds out.
      this.#known.catch(() => undefined);
      return progress;
    } catch (error) {
      this.#known = undefined;
      if (isRefusal(error)) throw adminError(error);
      const { message } = failureOf(error);
      throw new PostriderError('kafka-unavailable', message, { cause: error });
    }
  }

  close(): void {
    this.#cluster.close();
  }

  async #sum(): Promise<Progress> {
    const [topic, cluster] = [this.#topic, this.#cluster];
    const partitions = cluster.topic(topic)?.partitions ?? [];
    const places = Array.from(partitions.keys(), (partition) => ({ topic, partition }));
    const [starts, ends, committed] = await Promise.all([
      listOffsets(cluster, topic, earliestTime),
      listOffsets(cluster, topic, latestTime),
      this.#coordinator.committed(places),
    ]);
    let [end, finished] = [0, 0];
    for (const { partition, offset, error } of committed) {
      if (error !== 'NONE') throw new KafkaAnswerError(error, topic);
      end += ends.get(partition) ?? 0;
      // -1 where nothing is committed.
      finished += Math.max(offset, starts.get(partition) ?? 0);
    }
    return { end, finished };
  }

  async #refresh(): Promise<void> {
    await this.#cluster.refreshInTurn([this.#topic]);
  }
}
