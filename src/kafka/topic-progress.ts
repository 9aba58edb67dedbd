import { PostriderError } from '../errors.ts';
import type { KafkaAdmin, OffsetRange } from './admin.ts';
import {
  earliestTime,
  latestTime,
  listOffsets,
  type Cluster,
  type ClusterClient,
} from './cluster/cluster.ts';
import { Coordinator } from './consume/coordinator.ts';
import { adminError, failureOf, isRefusal } from './failure.ts';
import { KafkaAnswerError } from './protocol/errors.ts';

/** In epoch milliseconds, by Kafka's clock. */
export interface TimeSpan {
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
}

/**
 * The ranges of the topic's records of that time, in the order of partitions. The range of a partition that has none is
 * empty.
 */
export async function rangesWithin(
  admin: Pick<KafkaAdmin, 'offsets' | 'offsetsAt'>,
  topic: string,
  { sinceMs, untilMs }: TimeSpan,
): Promise<OffsetRange[]> {
  const [kept, since, until] = await Promise.all([
    admin.offsets(topic),
    sinceMs === undefined ? [] : admin.offsetsAt(topic, sinceMs),
    untilMs === undefined ? [] : admin.offsetsAt(topic, untilMs),
  ]);
  return kept.map(({ partition, start, end }) => {
    const next = Math.min(end, until[partition] ?? end);
    // Records may have been written between the answers.
    return {
      partition,
      start: Math.min(next, Math.max(start, since[partition] ?? start)),
      end: next,
    };
  });
}

/** The number of offsets in the ranges: about as many as records. */
export function offsetsIn(ranges: readonly OffsetRange[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

/**
 * Tells whether a group has finished all records of these ranges.
 * @param committed what the group has committed of their topic, as from `KafkaAdmin.committedOffsets`
 */
export function isFinished(
  ranges: readonly OffsetRange[],
  committed: readonly number[] | undefined,
): boolean {
  return ranges.every(
    ({ partition, start, end }) => start === end || (committed?.[partition] ?? -1) >= end,
  );
}

/** Positions in a topic, summed over its partitions. */
export interface GroupProgress {
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
  async look(): Promise<GroupProgress> {
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

  async #sum(): Promise<GroupProgress> {
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
