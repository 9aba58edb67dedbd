import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  Cluster,
  ListedOffset,
  ListOffsetsRequest,
  TopicMetadata,
} from '../../src/kafka/cluster/cluster.ts';
import { LatestMetadata } from '../../src/kafka/cluster/latest-metadata.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../src/kafka/protocol/errors.ts';
import type { EpochEndRequest } from '../../src/kafka/protocol/epoch-end.ts';
import type { EpochEnd, FetchAnswer, FetchRequest } from '../../src/kafka/protocol/fetch.ts';
import { noTopicId, type DescribedTopic } from '../../src/kafka/protocol/metadata.ts';
import type { GroupRequest } from './ask-group.ts';
import type { FakeBrokers } from './fake-brokers.ts';

/** A client's connections to fake brokers, and what it knows of them: as of its own last refresh. */
export class FakeCluster implements Cluster {
  readonly #brokers: FakeBrokers;
  readonly #metadata = new LatestMetadata();
  readonly #closed = Promise.withResolvers<never>();
  readonly #fetching = new Set<number>();
  /** Until what was asked last is answered. */
  readonly #busy = new Map<string, Promise<undefined>>();
  isClosed = false;

  constructor(brokers: FakeBrokers) {
    this.#brokers = brokers;
    this.#closed.promise.catch(() => undefined);
  }

  async refresh(topics: readonly string[]): Promise<void> {
    await this.#ask('Metadata', -1, { topics }, () => {
      for (const name of topics) this.#metadata.learn(this.#describe(name));
    });
  }

  async refreshInTurn(topics: readonly string[]): Promise<void> {
    await this.refresh(topics);
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#metadata.topic(name);
  }

  topicError(name: string): KafkaErrorName | undefined {
    return this.#metadata.error(name);
  }

  async describe(nodeId: number, topic: string): Promise<TopicMetadata | undefined> {
    return this.#ask('Metadata', nodeId, { topics: [topic] }, () => {
      const described = this.#describe(topic);
      this.#metadata.learn(described);
      return described.error === 'NONE' ? described : undefined;
    });
  }

  async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    if (this.#fetching.has(nodeId)) throw new Error(`two fetches at once from node ${nodeId}`);
    this.#fetching.add(nodeId);
    const written = asWritten(request);
    try {
      const answer = await this.#ask('Fetch', nodeId, written, () =>
        this.#brokers.fetch(nodeId, written),
      );
      for (const { records } of answer.partitions) this.#brokers.fetchedBytes += records.length;
      return answer;
    } finally {
      this.#fetching.delete(nodeId);
    }
  }

  async epochEnd(
    nodeId: number,
    request: EpochEndRequest,
  ): Promise<EpochEnd & { error: KafkaErrorName }> {
    return this.#ask('OffsetForLeaderEpoch', nodeId, request, () =>
      this.#brokers.epochEnd(nodeId, request),
    );
  }

  async listOffsets(nodeId: number, request: ListOffsetsRequest): Promise<readonly ListedOffset[]> {
    return this.#ask('ListOffsets', nodeId, request, () =>
      this.#brokers.listOffsets(nodeId, request),
    );
  }

  produce(): Promise<never> {
    return Promise.reject(new Error('readers write nothing'));
  }

  initProducerId(): Promise<never> {
    return Promise.reject(new Error('readers write nothing'));
  }

  async findCoordinator(groupId: string): Promise<number> {
    return this.#ask('FindCoordinator', -1, { groupId }, () => {
      const { coordinator, findError } = this.#brokers.group(groupId);
      if (findError !== undefined) throw new KafkaAnswerError(findError, `group ${groupId}`);
      if (this.#brokers.nodes.get(coordinator) === 'up') return coordinator;
      throw new KafkaAnswerError('COORDINATOR_NOT_AVAILABLE', groupId);
    });
  }

  async askCoordinator<T>(nodeId: number, api: string, request: object): Promise<T> {
    return this.#ask(
      api,
      nodeId,
      request,
      async () => (await this.#brokers.coordinate(nodeId, api, request as GroupRequest)) as T,
    );
  }

  close(): void {
    this.isClosed = true;
    this.#closed.reject(new Error('the connection was closed'));
  }

  #describe(name: string): DescribedTopic {
    const { topics, topicErrors, nodes } = this.#brokers;
    const topic = topics.get(name);
    const error = topicErrors.get(name);
    if (topic === undefined || error !== undefined)
      return { name, error: error ?? 'UNKNOWN_TOPIC_OR_PARTITION', id: noTopicId, partitions: [] };
    const partitions = topic.partitions.map(({ leader, epoch, inSync }) => ({
      leader: nodes.get(leader) === 'down' ? -1 : leader,
      epoch,
      inSync: inSync ?? [leader],
    }));
    return { name, error: 'NONE', id: topic.id, partitions };
  }

  async #ask<T>(
    api: string,
    nodeId: number,
    request: object,
    answer: () => T | Promise<T>,
  ): Promise<T> {
    if (this.isClosed) throw new Error('the connection was closed');
    const asked = { api, nodeId, request };
    this.#brokers.asked.push(asked);
    const answered = this.#inTurn(api, nodeId, async () => {
      await this.#reach(nodeId);
      await this.#brokers.before(asked);
      const answered = await answer();
      await this.#reach(nodeId);
      await this.#brokers.after(asked);
      return answered;
    });
    return Promise.race([this.#closed.promise, answered]);
  }

  /** Brokers answer one request of a connection after the other; fetches have a connection of their own. */
  async #inTurn<T>(api: string, nodeId: number, answer: () => Promise<T>): Promise<T> {
    if (nodeId < 0) return nextTurn().then(answer);
    const connection = `${nodeId} ${api === 'Fetch' ? api : ''}`;
    const answered = (this.#busy.get(connection) ?? nextTurn<undefined>()).then(answer);
    this.#busy.set(
      connection,
      answered.then(
        () => undefined,
        () => undefined,
      ),
    );
    return answered;
  }

  /** Rejects as a client does whose broker is gone, or hangs for too long. */
  async #reach(nodeId: number): Promise<void> {
    const { nodes, answerMs } = this.#brokers;
    const states = nodeId < 0 ? [...nodes.values()] : [nodes.get(nodeId) ?? 'down'];
    if (states.includes('up')) return;
    if (states.includes('hangs')) {
      await new Promise<void>((resolve) => {
        setTimeout(resolve, answerMs);
      });
      throw new KafkaAnswerError('REQUEST_TIMED_OUT', `node ${nodeId} did not answer`);
    }
    throw new KafkaAnswerError('NETWORK_EXCEPTION', `node ${nodeId}: connect ECONNREFUSED`);
  }
}

/** What is asked is written at once; the cursors may move before it is answered. */
export function asWritten({ maxWaitMs, maxBytes, rack, topics }: FetchRequest): FetchRequest {
  return {
    ...{ maxWaitMs, maxBytes, rack },
    topics: topics.map(({ id, partitions }) => ({
      id,
      partitions: partitions.map((position) => ({
        partition: position.partition,
        leaderEpoch: position.leaderEpoch,
        offset: position.offset,
        lastEpoch: position.lastEpoch,
        maxBytes: position.maxBytes,
      })),
    })),
  };
}
