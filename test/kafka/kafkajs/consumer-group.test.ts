import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchingCheaply, type ConsumerGroup } from '../../../src/kafka/kafkajs/consumer-group.ts';
import type { FetchResponse } from '../../../src/kafka/kafkajs/fetch-response.ts';
import { FetchedRecord } from '../../../src/kafka/kafkajs/fetched-record.ts';
import { readPatiently } from '../../../src/kafka/kafkajs/patient-topics.ts';

interface Asked {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number; readonly fetchOffset: string }[];
}

/** What kafkajs's ConsumerGroup has by itself, as far as a fetch needs it. */
class Group {
  leaders: Record<string, number[]> = { calls: [1, 2, 1] };
  paused: string[] = [];
  asked: string[] = [];
  recovered: unknown[] = [];
  staleChecks = 0;
  beats = 0;
  lastRequest = Date.now();
  bring: readonly (readonly [topic: string, partition: number, offset: number])[] = [];
  whileFetching: () => void = () => undefined;
  resolved: Record<string, Record<number, string>> = {};
  sought = new Set<string>();
  readonly brokerPool = { metadata: {} };
  readonly maxWaitTime = 1;
  readonly minBytes = 1;
  readonly maxBytes = 1_000;
  readonly maxBytesPerPartition = 100;
  readonly isolationLevel = 1;

  readonly cluster = {
    brokerPool: this.brokerPool,
    refreshMetadataIfNecessary: (): Promise<void> => Promise.resolve(),
    findTopicPartitionMetadata: (topic: string): object[] =>
      (this.leaders[topic] ?? []).map((leader, partitionId) => ({ partitionId, leader })),
    findBroker: (): object => ({
      fetch: ({ topics }: { readonly topics: readonly Asked[] }) => this.#answer(topics),
    }),
  };

  subscriptionState = {
    assignedPartitionsByTopic: { calls: { topic: 'calls', partitions: [0, 1, 2] } },
    isPaused: (topic: string, partition: number): boolean =>
      this.paused.includes(`${topic}/${partition}`),
  };

  readonly offsetManager = {
    committedOffsets: () => this.resolved,
    nextOffset: (topic: string, partition: number) => this.resolved[topic]?.[partition] ?? '0',
    resolveOffsets: (): Promise<void> => {
      for (const { topic, partitions } of Object.values(
        this.subscriptionState.assignedPartitionsByTopic,
      ))
        this.resolved[topic] = Object.fromEntries(partitions.map((each) => [each, '5']));
      return Promise.resolve();
    },
  };

  get seekOffset(): object {
    return { size: this.sought.size };
  }

  hasSeekOffset({ topic, partition }: { topic: string; partition: number }): boolean {
    return this.sought.has(`${topic}/${partition}`);
  }

  async seekOffsets(): Promise<void> {
    await this.offsetManager.resolveOffsets();
    for (const key of this.sought) {
      const [topic = '', partition = ''] = key.split('/');
      Object.assign(this.resolved[topic] ?? {}, { [partition]: '40' });
    }
    this.sought.clear();
  }

  checkForStaleAssignment(): void {
    this.staleChecks += 1;
  }

  recoverFromFetch(error: unknown): Promise<void> {
    this.recovered.push(error);
    return Promise.resolve();
  }

  heartbeat({ interval }: { readonly interval: number }): Promise<void> {
    if (Date.now() >= this.lastRequest + interval) {
      this.beats += 1;
      this.lastRequest = Date.now();
    }
    return Promise.resolve();
  }

  fetch(): Promise<never> {
    return Promise.reject(new Error('the original'));
  }

  #answer(topics: readonly Asked[]): Promise<FetchResponse> {
    this.asked = topics.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, fetchOffset }) => `${topic}/${partition}@${fetchOffset}`),
    );
    this.whileFetching();
    const context = { producerId: '-1', inTransaction: false };
    const responses = this.bring.map(([topicName, partition, offset]) => ({
      topicName,
      partitions: [
        {
          ...{ partition, errorCode: 0, preferredReadReplica: -1, abortedTransactions: [] },
          highWatermark: '100',
          lastOffset: offset,
          messages: [new FetchedRecord(offset, 0, null, null, {}, context, false)],
        },
      ],
    }));
    return Promise.resolve({ responses });
  }
}

const Fetching = fetchingCheaply(Group as unknown as new () => ConsumerGroup) as new () => Group &
  ConsumerGroup;

test('a fetch asks a broker for what it leads, from where each partition is read on', async () => {
  const group = new Fetching();
  assert.deepEqual(await group.fetch('1'), []);
  assert.deepEqual(group.asked, ['calls/0@5', 'calls/2@5']);
  await group.fetch('2');
  assert.deepEqual(group.asked, ['calls/1@5']);
});

test('what has a new leader is asked of that one', async () => {
  const group = new Fetching();
  await group.fetch('1');
  group.leaders = { calls: [2, 2, 1] };
  group.brokerPool.metadata = {};
  await group.fetch('1');
  assert.deepEqual(group.asked, ['calls/2@5']);
});

test('and so is what is assigned anew', async () => {
  const group = new Fetching();
  await group.fetch('1');
  const calls = { topic: 'calls', partitions: [0] };
  group.subscriptionState = {
    ...group.subscriptionState,
    assignedPartitionsByTopic: { calls },
  };
  await group.fetch('1');
  assert.deepEqual(group.asked, ['calls/0@5']);
});

test('new metadata is looked at for partitions that nobody has', async () => {
  const group = new Fetching();
  await group.fetch('1');
  await group.fetch('1');
  assert.equal(group.staleChecks, 1);
  group.brokerPool.metadata = {};
  await group.fetch('1');
  assert.equal(group.staleChecks, 2);
});

test('what is paused is not asked for', async () => {
  const group = new Fetching();
  group.paused = ['calls/0'];
  await group.fetch('1');
  assert.deepEqual(group.asked, ['calls/2@5']);
});

test('a seek takes effect with the next fetch', async () => {
  const group = new Fetching();
  await group.fetch('1');
  group.sought.add('calls/2');
  await group.fetch('1');
  assert.deepEqual(group.asked, ['calls/0@5', 'calls/2@40']);
});

test('what a fetch brings comes with the place where it began', async () => {
  const group = new Fetching();
  group.bring = [['calls', 2, 7]];
  const [fetched, ...others] = await group.fetch('1');
  const [batch] = fetched?.batches ?? [];
  assert.deepEqual(others, []);
  assert.equal(batch?.partition, 2);
  assert.equal(batch.fetchedOffset, 5);
  assert.deepEqual(
    batch.messages.map(({ offset }) => offset),
    ['7'],
  );
});

test('what was paused or sought while it was fetched is dropped', async () => {
  const group = new Fetching();
  group.bring = [
    ['calls', 0, 7],
    ['calls', 2, 7],
  ];
  group.whileFetching = () => {
    group.paused = ['calls/0'];
    group.sought.add('calls/2');
  };
  assert.deepEqual(await group.fetch('1'), []);
});

test('kafkajs recovers from what goes wrong', async () => {
  const group = new Fetching();
  const problem = new Error('the broker is gone');
  group.whileFetching = () => {
    throw problem;
  };
  assert.deepEqual(await group.fetch('1'), []);
  assert.deepEqual(group.recovered, [problem]);
});

test('a quiet partition of a patient topic rests, one that brings something does not', async (t) => {
  const topic = 'patient';
  readPatiently(topic);
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  const group = new Fetching();
  group.leaders = { calls: [1], [topic]: [1, 1] };
  const assigned = {
    calls: { topic: 'calls', partitions: [0] },
    [topic]: { topic, partitions: [0, 1] },
  };
  group.subscriptionState = { ...group.subscriptionState, assignedPartitionsByTopic: assigned };
  group.bring = [[topic, 1, 7]];
  await group.fetch('1');
  assert.deepEqual(group.asked, ['calls/0@5', 'patient/0@5', 'patient/1@5']);
  group.bring = [];
  await group.fetch('1');
  assert.deepEqual(group.asked, ['calls/0@5', 'patient/1@5']);
  await group.fetch('1');
  assert.deepEqual(group.asked, ['calls/0@5']);
  nowMs += 200;
  await group.fetch('1');
  assert.deepEqual(group.asked, ['calls/0@5', 'patient/0@5', 'patient/1@5']);
});

test('a clock that is set back keeps no heartbeat back', async (t) => {
  let nowMs = 3_600_000;
  t.mock.method(Date, 'now', () => nowMs);
  const group = new Fetching();
  const beat = async (): Promise<number> => {
    await group.heartbeat({ interval: 1_000 });
    return group.beats;
  };
  nowMs += 1_000;
  assert.equal(await beat(), 1);
  nowMs = 0;
  assert.equal(await beat(), 1);
  nowMs += 1_000;
  assert.equal(await beat(), 2);
  assert.equal(await beat(), 2);
});
