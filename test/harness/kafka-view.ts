import assert from 'node:assert/strict';
import kafkajs, { type Admin, type PartitionMetadata } from 'kafkajs';
import { eventually } from './eventually.ts';

const { Kafka, logLevel, AssignerProtocol, Partitioners } = kafkajs;

/** Members of a group, by partition. */
export type Owners = ReadonlyMap<number, string>;

/** What an operator's tools say of the cluster. By stock kafkajs, so that nothing tested is asked about itself. */
export class KafkaView {
  readonly #brokers: readonly string[];
  readonly #prefix: string;

  constructor(brokers: readonly string[], prefix: string) {
    this.#brokers = brokers;
    this.#prefix = prefix;
  }

  /** Of a topic or a group, in full. */
  name(short: string): string {
    return this.#prefix + short;
  }

  /** Every partition of every topic has all its replicas. */
  async allInSync(): Promise<void> {
    await eventually(async () => {
      const { topics } = await this.ask((admin) => admin.fetchTopicMetadata());
      const partitions = topics.flatMap((topic) => topic.partitions);
      const behind = partitions.filter(({ isr, replicas }) => isr.length < replicas.length);
      assert.equal(behind.length, 0, `${behind.length} partitions have too few replicas`);
    }, 90_000);
  }

  /** By partition. */
  async leaders(topic: string): Promise<ReadonlyMap<number, number>> {
    const { topics } = await this.ask((admin) =>
      admin.fetchTopicMetadata({ topics: [this.name(topic)] }),
    );
    return new Map(topics[0]?.partitions.map(({ partitionId, leader }) => [partitionId, leader]));
  }

  /** As it is now, by the brokers' metadata. */
  async partition(topic: string, partition: number): Promise<PartitionMetadata> {
    const { topics } = await this.ask((admin) =>
      admin.fetchTopicMetadata({ topics: [this.name(topic)] }),
    );
    const found = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition);
    assert.ok(found);
    return found;
  }

  /** Begins to give a partition these replicas, of which the first is the preferred leader. */
  async reassign(topic: string, partition: number, replicas: number[]): Promise<void> {
    const topics = [{ topic: this.name(topic), partitionAssignment: [{ partition, replicas }] }];
    await this.ask((admin) => admin.alterPartitionReassignments({ topics }));
  }

  /**
   * Which member of a group has each partition of a topic; the group has so many members, and is at rest.
   * Throws before.
   */
  async owners(group: string, topic: string, members: number): Promise<Owners> {
    const { groups } = await this.ask((admin) => admin.describeGroups([this.name(group)]));
    const [found] = groups;
    assert.equal(found?.state, 'Stable');
    assert.equal(found.members.length, members);
    const owners = new Map<number, string>();
    for (const { memberId, memberAssignment } of found.members) {
      const assigned = AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {};
      for (const partition of assigned[this.name(topic)] ?? []) owners.set(partition, memberId);
    }
    const { size } = await this.leaders(topic);
    assert.equal(owners.size, size, 'not every partition has an owner');
    return owners;
  }

  /** How many records of a topic, which begins at its first one, a group has committed. */
  async committed(group: string, topic: string): Promise<number> {
    const names = { groupId: this.name(group), topics: [this.name(topic)] };
    const [found] = await this.ask((admin) => admin.fetchOffsets(names));
    return (found?.partitions ?? []).reduce((sum, { offset }) => sum + Math.max(0, +offset), 0);
  }

  /** All that the topics hold was read and committed: nothing of it can be read again. */
  async allCommitted(group: string, topics: readonly string[]): Promise<void> {
    const names = topics.map((topic) => this.name(topic));
    await eventually(
      () =>
        this.ask(async (admin) => {
          const committed = await admin.fetchOffsets({
            groupId: this.name(group),
            topics: names,
          });
          for (const { topic, partitions } of committed) {
            const ends = await admin.fetchTopicOffsets(topic);
            for (const { partition, high, low } of ends) {
              const offset = partitions.find((one) => one.partition === partition)?.offset ?? '-1';
              assert.ok(
                high === low || offset === high,
                `${topic} ${partition}: ${offset}/${high}`,
              );
            }
          }
        }),
      90_000,
    );
  }

  /** One question to the brokers, of an operator. */
  async ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    const kafka = new Kafka({
      brokers: [...this.#brokers],
      logLevel: logLevel.NOTHING,
      // A broker that hangs is not waited for: the question is asked again.
      requestTimeout: 5_000,
      retry: { retries: 2 },
    });
    const admin = kafka.admin();
    await admin.connect();
    return question(admin).finally(() => admin.disconnect());
  }
}

/** Where a record with this key goes, as Kafka's Java producer has it. */
export function partitionOfKey(key: string, partitions: number): number {
  return Partitioners.DefaultPartitioner()({
    topic: '',
    message: { key, value: null },
    partitionMetadata: Array.from({ length: partitions }, (_, partitionId) => ({
      partitionId,
      partitionErrorCode: 0,
      leader: 1,
      replicas: [1],
      isr: [1],
    })),
  });
}
