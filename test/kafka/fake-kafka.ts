import { FetchedBatch } from '../../src/kafka/kafkajs/fetched-batch.ts';
import { FetchedBatches } from '../../src/kafka/kafkajs/fetched-batches.ts';
import { FetchedRecord } from '../../src/kafka/kafkajs/fetched-record.ts';
import { EventEmitter } from 'node:events';
import type { ConsumerConfig, ConsumerRunConfig } from 'kafkajs';
import type { KafkaClient } from '../../src/kafka/client.ts';
import type { Logger } from '../../src/ops/log.ts';

type EventName =
  | 'GROUP_JOIN'
  | 'REBALANCING'
  | 'FETCH_START'
  | 'COMMIT_OFFSETS'
  | 'RECEIVED_UNSUBSCRIBED_TOPICS'
  | 'CRASH';

const events: Readonly<Record<EventName, string>> = {
  GROUP_JOIN: 'consumer.group_join',
  REBALANCING: 'consumer.rebalancing',
  FETCH_START: 'consumer.fetch_start',
  COMMIT_OFFSETS: 'consumer.commit_offsets',
  RECEIVED_UNSUBSCRIBED_TOPICS: 'consumer.received_unsubscribed_topics',
  CRASH: 'consumer.crash',
};

type LogMethod = (fields: object, message: string) => void;

/** Stands for kafkajs's consumer: remembers what it was told, and says what a test wants. */
export class FakeConsumer {
  readonly events: Readonly<Record<EventName, string>> = events;
  readonly calls: string[] = [];
  readonly config: ConsumerConfig;
  runConfig: ConsumerRunConfig | undefined;
  topics: string[] = [];
  fromBeginning: boolean | undefined;
  private readonly emitter = new EventEmitter();
  private readonly kafka: FakeKafka;

  constructor(kafka: FakeKafka, config: ConsumerConfig) {
    this.kafka = kafka;
    this.config = config;
  }

  on(name: string, listener: (event: { payload: unknown }) => void): void {
    this.emitter.on(name, listener);
  }

  emit(name: EventName, payload: unknown = {}): void {
    this.emitter.emit(events[name], { payload });
  }

  connect(): Promise<void> {
    this.calls.push('connect');
    return this.kafka.isAway
      ? Promise.reject(new Error('connect ECONNREFUSED'))
      : Promise.resolve();
  }

  subscribe(subscription: { topics: string[]; fromBeginning: boolean }): Promise<void> {
    this.topics = subscription.topics;
    this.fromBeginning = subscription.fromBeginning;
    return Promise.resolve();
  }

  run(config: ConsumerRunConfig): Promise<void> {
    this.calls.push('run');
    this.runConfig = config;
    return this.kafka.joining;
  }

  commitOffsets(offsets: { topic: string; partition: number; offset: string }[]): Promise<void> {
    this.calls.push(`commit ${offsets.map(({ offset }) => offset).join(' ')}`);
    this.kafka.committed = offsets[0]?.offset ?? '-1';
    const topics = offsets.map(({ topic, partition, offset }) => ({
      topic,
      partitions: [{ partition, offset }],
    }));
    this.emit('COMMIT_OFFSETS', { topics });
    return Promise.resolve();
  }

  seek({ partition, offset }: { partition: number; offset: string }): void {
    this.calls.push(`seek ${partition} to ${offset}`);
  }

  pause(): void {
    this.calls.push('pause');
  }

  resume(): void {
    this.calls.push('resume');
  }

  disconnect(): Promise<void> {
    this.calls.push('disconnect');
    return Promise.resolve();
  }

  /** One batch of records from `fetchedOffset` on, through the handler. */
  handle(fetchedOffset: number, count: number, resolved: string[] = []): Promise<void> {
    return this.handleBatch(fetchedOffset, count, false, resolved);
  }

  /** One batch of nothing but markers. */
  handleMarkers(fetchedOffset: number, count: number): Promise<void> {
    return this.handleBatch(fetchedOffset, count, true, []);
  }

  private async handleBatch(
    fetchedOffset: number,
    count: number,
    areMarkers: boolean,
    resolved: string[],
  ): Promise<void> {
    const context = { producerId: '-1', inTransaction: false };
    const part = {
      partition: 0,
      highWatermark: String(fetchedOffset + count),
      lastOffset: fetchedOffset + count - 1,
      messages: Array.from(
        { length: count },
        (_, i) => new FetchedRecord(fetchedOffset + i, 0, null, null, {}, context, areMarkers),
      ),
    };
    const batch = new FetchedBatch(this.topics[0] ?? '', fetchedOffset, part, {
      hasSeekOffset: () => false,
      resolveOffset: ({ offset }) => resolved.push(offset),
    });
    const payload = { batch: new FetchedBatches(1, [batch]) };
    await this.runConfig?.eachBatch?.(payload as never);
  }
}

/** Topics with one partition each. */
export class FakeKafka {
  readonly consumers: FakeConsumer[] = [];
  readonly groupsDeleted: string[] = [];
  isAway = false;
  /** It keeps its connections, and answers no question. */
  isHanging = false;
  /** Resolves when a consumer that runs has joined its group. */
  joining: Promise<void> = Promise.resolve();
  /** How often somebody connected, or tried to. */
  attempts = 0;
  topics: string[];
  end = 0;
  /** What the group has committed. */
  committed = '-1';
  /** How often questions for it are answered without naming a partition. */
  answersWithoutPartitions = 0;

  constructor(topics: string[]) {
    this.topics = topics;
  }

  get client(): KafkaClient {
    return this as unknown as KafkaClient;
  }

  /** The consumer that was made last. */
  get consumerNow(): FakeConsumer {
    const consumer = this.consumers.at(-1);
    if (consumer === undefined) throw new Error('no consumer was made');
    return consumer;
  }

  consumer(config: ConsumerConfig): FakeConsumer {
    const consumer = new FakeConsumer(this, config);
    this.consumers.push(consumer);
    return consumer;
  }

  admin(): object {
    let unanswered: Promise<never> | undefined;
    const answer = <T>(value: T): Promise<T> => {
      if (this.isHanging) return (unanswered ??= Promise.withResolvers<never>().promise);
      return this.isAway
        ? Promise.reject(new Error('connect ECONNREFUSED'))
        : Promise.resolve(value);
    };
    return {
      connect: () => {
        this.attempts += 1;
        return answer(undefined);
      },
      // kafkajs waits for what was asked.
      disconnect: () => unanswered ?? Promise.resolve(),
      listTopics: () => answer(this.topics),
      fetchOffsets: ({ topics }: { topics: string[] }) => {
        const isNamed = this.answersWithoutPartitions === 0;
        if (!isNamed) this.answersWithoutPartitions -= 1;
        const partitions = isNamed ? [{ partition: 0, offset: this.committed }] : [];
        return answer(topics.map((topic) => ({ topic, partitions })));
      },
      fetchTopicOffsets: () => answer([{ partition: 0, low: '0', high: String(this.end) }]),
      deleteGroups: (groups: string[]) => answer(this.groupsDeleted.push(...groups)),
    };
  }
}

/** Keeps what was logged. */
export class FakeLogger implements Logger {
  readonly lines: { level: string; fields: object; message: string }[] = [];
  readonly debug: LogMethod = this.keep('debug');
  readonly info: LogMethod = this.keep('info');
  readonly warn: LogMethod = this.keep('warn');
  readonly error: LogMethod = this.keep('error');

  child(): Logger {
    return this;
  }

  /** Lines that an operator sees. */
  get visible(): string[] {
    return this.lines
      .filter(({ level }) => level !== 'debug')
      .map(({ level, fields, message }) => `${level}: ${message} ${JSON.stringify(fields)}`);
  }

  private keep(level: string): LogMethod {
    return (fields, message) => {
      this.lines.push({ level, fields, message });
    };
  }
}
