import type { KafkaClient } from '../kafka/client.ts';
import {
  openTransactions,
  placeName,
  type PlacedRecord,
  type Transactions,
} from '../kafka/produce/transactions.ts';
import type { Topology } from '../topology.ts';
import { barrierRecord } from './membership.ts';

/** Limited, because opening takes connections, and a topic may have hundreds of partitions. */
const openedAtOnce = 16;

/**
 * The exclusive right to write an audience's memberships: one transactional id for each partition of
 * `audience-members`.
 */
export class PartitionWriters {
  readonly #topology: Topology;
  readonly #id: string;
  readonly #writers = new Map<number, Transactions>();
  /** By partition: behind the last record that this process, or an earlier sync, has written. */
  readonly ends: Map<number, number> = new Map();
  /** The same for `audience-syncs`. */
  recordEnd = 0;

  constructor(topology: Topology, id: string) {
    this.#topology = topology;
    this.#id = id;
  }

  /**
   * Once this resolves, no earlier sync can commit anything to these partitions, and everything that they
   * have committed is before the ends.
   */
  async take(kafka: KafkaClient, partitions: number): Promise<void> {
    const { topics } = this.#topology;
    for (let from = 0; from < partitions; from += openedAtOnce) {
      const some = Array.from(
        { length: Math.min(openedAtOnce, partitions - from) },
        (_, index) => from + index,
      );
      // One that is still being opened when this rejects would fence the next sync.
      const taken = await Promise.allSettled(
        some.map(async (partition) => {
          const id = this.#topology.audienceTransaction(this.#id, partition);
          this.#writers.set(partition, await openTransactions(kafka, id));
          const barrier = barrierRecord(topics.audienceMembers, partition, this.#id);
          // The first partition's writer also writes the audience's own record, so that record has one writer
          // too.
          const more = partition === 0 ? [barrierRecord(topics.audienceSyncs, 0, '')] : [];
          await this.write(partition, [barrier, ...more]);
        }),
      );
      for (const each of taken) if (each.status === 'rejected') throw each.reason;
    }
  }

  /** Commits the records together. Those of `audience-members` are all in this partition. */
  async write(partition: number, records: readonly PlacedRecord[]): Promise<void> {
    const writer = this.#writers.get(partition);
    if (writer === undefined) throw new Error(`partition ${partition} was not taken`);
    const { audienceMembers, audienceSyncs } = this.#topology.topics;
    const written = await writer.write(records);
    const end = written.get(placeName(audienceMembers, partition));
    if (end !== undefined) this.ends.set(partition, end);
    this.recordEnd = written.get(placeName(audienceSyncs, 0)) ?? this.recordEnd;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#writers.values(), (writer) => writer.close()));
  }
}
