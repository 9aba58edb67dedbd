import type { Admin, Producer } from 'kafkajs';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import type { ClusterClient } from '../../src/kafka/cluster/cluster.ts';
import type { ConsumeLoopOptions } from '../../src/kafka/consume/consume-loop.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { Member } from './consume/member.ts';

export { Member, numbers } from './consume/member.ts';

/** A client of the run's broker. */
export async function newClient(): Promise<KafkaClient> {
  const { brokers } = await testBroker();
  return createKafka({ brokers, clientId: 'test' }, silentLogger);
}

/** Topics under a prefix of their own, something to write to them with, and members that read them. */
export class Scene {
  readonly prefix: string = testPrefix();
  readonly kafka: KafkaClient;
  readonly admin: Admin;
  readonly producer: Producer;
  readonly #closers: (() => Promise<unknown>)[] = [];

  private constructor(kafka: KafkaClient) {
    this.kafka = kafka;
    this.admin = kafka.admin();
    this.producer = kafka.producer({ allowAutoTopicCreation: false });
  }

  static async open(): Promise<Scene> {
    const scene = new Scene(await newClient());
    await Promise.all([scene.admin.connect(), scene.producer.connect()]);
    return scene;
  }

  get group(): string {
    return `${this.prefix}group`;
  }

  topic(name: string): string {
    return this.prefix + name;
  }

  async createTopic(name: string, partitions: number): Promise<string> {
    const topic = this.topic(name);
    await this.admin.createTopics({
      topics: [{ topic, numPartitions: partitions }],
      // kafkajs's own waiting fails when the broker that it asks does not know the topic yet.
      waitForLeaders: false,
    });
    // The leaders themselves answer: until they do, kafkajs's producer may write twice.
    await eventually(() => this.admin.fetchTopicOffsets(topic));
    return topic;
  }

  /** Values `from` to `from + count - 1`, dealt out to the partitions in turn. */
  async write(topic: string, partitions: number, count: number, from: number = 0): Promise<void> {
    const messages = Array.from({ length: count }, (_, i) => ({
      partition: (from + i) % partitions,
      value: String(from + i),
    }));
    await this.producer.send({ topic, messages });
  }

  /** By partition; -1 where nothing is committed. */
  async committed(topic: string): Promise<number[]> {
    const [answer] = await this.admin.fetchOffsets({ groupId: this.group, topics: [topic] });
    const partitions = answer?.partitions ?? [];
    return partitions.toSorted((a, b) => a.partition - b.partition).map((p) => Number(p.offset));
  }

  async member(
    topics: readonly string[],
    options: Partial<ConsumeLoopOptions> & { readonly kafka?: ClusterClient } = {},
  ): Promise<Member> {
    const member = new Member(options.kafka ?? (await newClient()), {
      groupId: this.group,
      topics,
      windowRecords: 10_000,
      windowBytes: 10_000_000,
      clock: systemClock,
      log: silentLogger,
      ...options,
    });
    member.start();
    this.#closers.push(() => member.loop.stop(0));
    return member;
  }

  onClose(close: () => Promise<unknown>): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    await Promise.all(this.#closers.map((close) => close()));
    const topics = (await this.admin.listTopics()).filter((name) => name.startsWith(this.prefix));
    if (topics.length > 0) await this.admin.deleteTopics({ topics });
    await Promise.all([this.admin.disconnect(), this.producer.disconnect()]);
  }
}
