import type { Admin, Producer } from 'kafkajs';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import {
  startConsumeLoop,
  type ConsumeLoop,
  type ConsumeLoopOptions,
} from '../../src/kafka/consume/consume-loop.ts';
import type { ConsumedRecord } from '../../src/kafka/consume/consumed-record.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';

/** A client of its own: two members of one group in one client would share kafkajs's offsets. */
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
  private readonly closers: (() => Promise<unknown>)[] = [];

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
    options: Partial<ConsumeLoopOptions> & { readonly kafka?: KafkaClient } = {},
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
    await member.start();
    this.closers.push(() => member.loop.stop(0));
    return member;
  }

  onClose(close: () => Promise<unknown>): void {
    this.closers.push(close);
  }

  async close(): Promise<void> {
    await Promise.all(this.closers.map((close) => close()));
    const topics = (await this.admin.listTopics()).filter((name) => name.startsWith(this.prefix));
    if (topics.length > 0) await this.admin.deleteTopics({ topics });
    await Promise.all([this.admin.disconnect(), this.producer.disconnect()]);
  }
}

/** A member that keeps what it receives in flight until the test finishes it. */
export class Member {
  loop!: ConsumeLoop;
  readonly received: ConsumedRecord[] = [];
  readonly lost: string[] = [];
  /** Finish records as they come. */
  finishes = false;
  private readonly kafka: KafkaClient;
  private readonly options: Omit<ConsumeLoopOptions, 'onRecords'>;

  constructor(kafka: KafkaClient, options: Omit<ConsumeLoopOptions, 'onRecords'>) {
    this.kafka = kafka;
    this.options = options;
  }

  async start(): Promise<void> {
    this.loop = await startConsumeLoop(this.kafka, {
      onLost: (partitions) => {
        this.lost.push(...partitions.map(({ topic, partition }) => `${topic}/${partition}`));
      },
      ...this.options,
      onRecords: (records) => {
        this.received.push(...records);
        if (this.finishes) for (const record of records) record.finish();
      },
    });
  }

  /** The numbers that `Scene.write` wrote, in ascending order, repeats included. */
  values(): number[] {
    return this.received.map(({ value }) => Number(value)).toSorted((a, b) => a - b);
  }

  finishAll(): void {
    for (const record of this.received) record.finish();
  }

  owns(): string[] {
    return this.loop
      .assigned()
      .map(({ topic, partition }) => `${topic}/${partition}`)
      .toSorted();
  }
}

export function numbers(count: number, from: number = 0): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}
