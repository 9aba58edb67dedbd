import type { KafkaClient } from '../kafka/client.ts';
import {
  openTransactions,
  placeName,
  type PlacedRecord,
  type Transactions,
} from '../kafka/produce/transactions.ts';
import type { Topology } from '../topology.ts';
import { barrierRecord } from './membership.ts';
import type { SyncTarget } from './sync-target.ts';

/** Opening takes connections, and a topic may have hundreds of partitions. */
const openedAtOnce = 16;

/**
 * The right to write what is remembered of an audience, one transactional id for each partition of
 * `audience-members`: so a sync that is cut into other shards fences the one before all the same.
 */
export class PartitionWriters {
  readonly #topic: string;
  readonly #target: SyncTarget;
  readonly #writers = new Map<number, Transactions>();
  /** By partition: behind the last record that this process, or a sync before it, has written. */
  readonly ends: Map<number, number> = new Map();

  constructor(topic: string, target: SyncTarget) {
    this.#topic = topic;
    this.#target = target;
  }

  /**
   * Once it resolves, no earlier sync can commit anything to these partitions, and all that they have
   * committed is before `ends`.
   */
  async take(kafka: KafkaClient, topology: Topology, partitions: readonly number[]): Promise<void> {
    for (let from = 0; from < partitions.length; from += openedAtOnce) {
      const some = partitions.slice(from, from + openedAtOnce);
      await Promise.all(
        some.map(async (partition) => {
          const id = topology.audienceTransaction(this.#target.id, partition);
          this.#writers.set(partition, await openTransactions(kafka, id));
          await this.write(partition, [barrierRecord(this.#topic, partition, this.#target)]);
        }),
      );
    }
  }

  /** Commits them together. Of `audience-members` they are all in this partition. */
  async write(partition: number, records: readonly PlacedRecord[]): Promise<void> {
    const writer = this.#writers.get(partition);
    if (writer === undefined) throw new Error(`partition ${partition} is not of this shard`);
    const written = await writer.write(records);
    const end = written.get(placeName(this.#topic, partition));
    if (end !== undefined) this.ends.set(partition, end);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#writers.values(), (writer) => writer.close()));
  }
}
