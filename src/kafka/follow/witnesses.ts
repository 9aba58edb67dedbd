import type { Logger } from '../../ops/log.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { reasonOf } from '../failure.ts';
import type { PartitionMetadata } from '../protocol/metadata.ts';

export interface WitnessesOptions {
  readonly cluster: Pick<Cluster, 'topic' | 'describe'>;
  readonly topic: string;
  readonly log: Logger;
  /** Called when one that would know of another has said, asked at that time, that the leader of this epoch leads. */
  confirmed(topicId: string, partition: number, epoch: number, askedAtMs: number): void;
}

/**
 * Asks for the leaders of a topic those who would have elected others. A leader that has lost touch with them is not
 * told of it, and may be all that this process reaches.
 */
export class Witnesses {
  readonly #options: WitnessesOptions;
  /** Brokers that have not answered yet. One that hangs keeps nobody from asking the others. */
  readonly #asked = new Set<number>();

  constructor(options: WitnessesOptions) {
    this.#options = options;
  }

  ask(): void {
    const { cluster, topic } = this.#options;
    const nodeIds = new Set((cluster.topic(topic)?.partitions ?? []).flatMap(witnessesOf));
    for (const nodeId of nodeIds) if (!this.#asked.has(nodeId)) void this.#ask(nodeId);
  }

  async #ask(nodeId: number): Promise<void> {
    const { cluster, topic, log } = this.#options;
    const askedAtMs = performance.now();
    this.#asked.add(nodeId);
    try {
      const { topicId, epochs } = await testimonyOf(cluster, nodeId, topic);
      for (const [partition, epoch] of epochs)
        this.#options.confirmed(topicId, partition, epoch, askedAtMs);
    } catch (error) {
      log.debug({ topic, nodeId, reason: reasonOf(error) }, 'a broker does not say who leads');
    } finally {
      this.#asked.delete(nodeId);
    }
  }
}

/**
 * The brokers whose word on the leader counts: the other replicas in sync, of which one would lead in its place. If there
 * are none, nobody else can lead, and its own does.
 */
export function witnessesOf({ leader, inSync }: PartitionMetadata): readonly number[] {
  if (leader < 0) return [];
  const others = inSync.filter((nodeId) => nodeId !== leader);
  return others.length > 0 ? others : [leader];
}

interface Testimony {
  readonly topicId: string;
  /** The epochs of the leaders, by partition. */
  readonly epochs: ReadonlyMap<number, number>;
}

/** A broker's word on the partitions for which it counts. */
async function testimonyOf(
  cluster: Pick<Cluster, 'describe'>,
  nodeId: number,
  topic: string,
): Promise<Testimony> {
  const epochs = new Map<number, number>();
  const { id: topicId = '', partitions = [] } = (await cluster.describe(nodeId, topic)) ?? {};
  for (const [partition, told] of partitions.entries())
    if (witnessesOf(told).includes(nodeId)) epochs.set(partition, told.epoch);
  return { topicId, epochs };
}

/**
 * Tells whether, for each partition, one that would know of another says that its known leader leads: what the leaders
 * have said before is all there was then.
 */
export async function areConfirmed(
  cluster: Pick<Cluster, 'topic' | 'describe'>,
  topic: string,
): Promise<boolean> {
  const known = cluster.topic(topic);
  const partitions = known?.partitions ?? [];
  const doubted = new Set(partitions.keys());
  const answers = [...new Set(partitions.flatMap(witnessesOf))].map(async (nodeId) => {
    const { topicId, epochs } = await testimonyOf(cluster, nodeId, topic);
    if (topicId === known?.id)
      for (const [partition, epoch] of epochs)
        if (epoch === partitions[partition]?.epoch) doubted.delete(partition);
    if (doubted.size > 0) throw new Error('others have to be heard');
  });
  // A broker that hangs is not waited for where others have said it all.
  return Promise.any(answers).then(
    () => true,
    () => false,
  );
}
