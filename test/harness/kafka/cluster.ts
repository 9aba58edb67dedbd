import { asError } from '../../../src/errors.ts';
import type {
  Cluster,
  ListedOffset,
  ListOffsetsRequest,
} from '../../../src/kafka/cluster/cluster.ts';
import { LatestMetadata, type TopicMetadata } from '../../../src/kafka/cluster/latest-metadata.ts';
import type {
  EpochEndAnswer,
  EpochEndRequest,
  FetchAnswer,
  FetchRequest,
} from '../../../src/kafka/protocol/fetch.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type {
  ProducedPartition,
  ProduceRequest,
  ProducerIdentity,
} from '../../../src/kafka/protocol/produce.ts';
import type { GroupRequest } from './ask-group.ts';
import type { MemoryBrokers } from './brokers.ts';

/** As of the real cluster's connections. */
const answerMs = 5_000;
const graceMs = 3_000;

export interface Asked {
  /** As kafkajs calls it, and `Fetch`, `Metadata`, `OffsetForLeaderEpoch`. */
  readonly api: string;
  readonly nodeId: number;
  readonly request: object;
}

/**
 * A client's connections to brokers in memory, and what it knows of them: as of its own last refresh. How what is
 * asked travels, and what becomes of it on the way, is for its subclass to say.
 */
export abstract class MemoryCluster implements Cluster {
  readonly #brokers: MemoryBrokers;
  readonly #metadata = new LatestMetadata();
  /** Until what was asked last is answered. */
  readonly #busy = new Map<string, Promise<void>>();
  readonly #pending = new Set<(error: Error) => void>();
  readonly #fetching = new Set<number>();
  /** Those that have answered what was asked last. */
  readonly #connected = new Set<number>();
  /** In which turn a broker was asked last what any broker may be asked. */
  readonly #turns = new Map<number, number>();
  #turn = 0;
  isClosed = false;

  constructor(brokers: MemoryBrokers) {
    this.#brokers = brokers;
  }

  /** There, the broker's work, and back. @param untilMs by `livedMs`, when it is given up */
  protected abstract travel<T>(
    asked: Asked,
    untilMs: number,
    answer: () => T | Promise<T>,
  ): Promise<T>;

  async refresh(topics: readonly string[]): Promise<void> {
    await this.#refreshFrom(this.nearestFirst(), topics);
  }

  async refreshInTurn(topics: readonly string[]): Promise<void> {
    await this.#refreshFrom(this.inTurn(), topics);
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#metadata.topic(name);
  }

  topicError(name: string): KafkaErrorName | undefined {
    return this.#metadata.error(name);
  }

  async describe(nodeId: number, topic: string): Promise<TopicMetadata | undefined> {
    return this.ask({ api: 'Metadata', nodeId, request: { topics: [topic] } }, answerMs, () => {
      const described = this.#brokers.describe(nodeId, topic);
      this.#metadata.learn(described);
      return described.error === 'NONE' ? described : undefined;
    });
  }

  async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    if (this.#fetching.has(nodeId)) throw new Error(`two fetches at once from node ${nodeId}`);
    this.#fetching.add(nodeId);
    const written = asWritten(request);
    try {
      return await this.ask(
        { api: 'Fetch', nodeId, request: written },
        request.maxWaitMs + graceMs,
        () => this.#brokers.fetch(nodeId, written),
      );
    } finally {
      this.#fetching.delete(nodeId);
    }
  }

  async produce(nodeId: number, request: ProduceRequest): Promise<readonly ProducedPartition[]> {
    try {
      return await this.ask({ api: 'Produce', nodeId, request }, request.timeoutMs + graceMs, () =>
        this.#brokers.produce(nodeId, request),
      );
    } catch (error) {
      // As the real one: others are asked before it who leads.
      this.#turns.set(nodeId, (this.#turn += 1));
      throw error;
    }
  }

  async initProducerId(): Promise<ProducerIdentity> {
    return this.askAny('InitProducerId', {}, this.nearestFirst(), () =>
      this.#brokers.initProducerId(),
    );
  }

  async epochEnd(nodeId: number, request: EpochEndRequest): Promise<EpochEndAnswer> {
    return this.ask({ api: 'OffsetForLeaderEpoch', nodeId, request }, answerMs, () =>
      this.#brokers.epochEnd(nodeId, request),
    );
  }

  async listOffsets(nodeId: number, request: ListOffsetsRequest): Promise<readonly ListedOffset[]> {
    return this.ask({ api: 'ListOffsets', nodeId, request }, answerMs, () =>
      this.#brokers.listOffsets(nodeId, request),
    );
  }

  async findCoordinator(groupId: string, failed?: number): Promise<number> {
    const nodeIds = failed === undefined ? this.nearestFirst() : this.inTurn(failed);
    return this.askAny('FindCoordinator', { groupId }, nodeIds, (nodeId) =>
      this.#brokers.coordinatorOf(nodeId, groupId),
    );
  }

  async askCoordinator<T>(
    nodeId: number,
    api: string,
    request: object,
    timeoutMs: number = answerMs,
  ): Promise<T> {
    const answer = this.ask({ api, nodeId, request }, timeoutMs, () =>
      this.#brokers.coordinate(nodeId, api, request as GroupRequest, timeoutMs),
    );
    return (await answer) as T;
  }

  close(): void {
    this.isClosed = true;
    const error = new KafkaAnswerError('NETWORK_EXCEPTION', 'the connection was closed');
    for (const reject of this.#pending) reject(error);
    this.#pending.clear();
  }

  /** As the real one: brokers that are connected come first, then the others in the order of the settings. */
  protected nearestFirst(): readonly number[] {
    const { nodeIds, time } = this.#brokers;
    const connected = nodeIds.filter((nodeId) => this.#connected.has(nodeId));
    const from = Math.floor(time.random() * connected.length);
    const others = nodeIds.filter((nodeId) => !this.#connected.has(nodeId));
    return [...connected.slice(from), ...connected.slice(0, from), ...others];
  }

  /** The one that was asked longest ago comes first. @param last comes last */
  protected inTurn(last?: number): readonly number[] {
    const turnOf = (nodeId: number): number =>
      nodeId === last ? Infinity : (this.#turns.get(nodeId) ?? 0);
    return this.#brokers.nodeIds.toSorted((a, b) => turnOf(a) - turnOf(b));
  }

  async #refreshFrom(nodeIds: readonly number[], topics: readonly string[]): Promise<void> {
    await this.askAny('Metadata', { topics }, nodeIds, (nodeId) => {
      for (const name of topics) this.#metadata.learn(this.#brokers.describe(nodeId, name));
    });
  }

  protected async askAny<T>(
    api: string,
    request: object,
    nodeIds: readonly number[],
    answer: (nodeId: number) => T | Promise<T>,
  ): Promise<T> {
    let failure: unknown;
    for (const nodeId of nodeIds) {
      this.#turns.set(nodeId, (this.#turn += 1));
      try {
        return await this.ask({ api, nodeId, request }, answerMs, () => answer(nodeId));
      } catch (error) {
        if (this.isClosed || !isConnectionError(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  protected async ask<T>(
    asked: Asked,
    timeoutMs: number,
    answer: () => T | Promise<T>,
  ): Promise<T> {
    if (this.isClosed) throw new KafkaAnswerError('NETWORK_EXCEPTION', 'the connection is closed');
    const { nodeId } = asked;
    const connection = this.connectionOf(asked);
    const untilMs = this.#brokers.time.livedMs + timeoutMs;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#pending.add(reject);
    const travel = (): Promise<T> => this.travel(asked, untilMs, answer);
    const former = connection === undefined ? undefined : this.#busy.get(connection);
    const isOver = (former === undefined ? travel() : former.then(travel)).then(
      (value) => {
        this.#pending.delete(reject);
        this.#connected.add(nodeId);
        resolve(value);
      },
      (error: unknown) => {
        this.#pending.delete(reject);
        if (isConnectionError(error)) this.#connected.delete(nodeId);
        reject(asError(error));
      },
    );
    if (connection !== undefined) this.#busy.set(connection, isOver);
    return promise;
  }

  /**
   * Brokers answer one request of a connection after the other; fetches have a connection of their own. Undefined: no
   * other request waits for this one.
   */
  protected connectionOf({ api, nodeId }: Asked): string | undefined {
    return api === 'Fetch' ? `${nodeId} ${api}` : String(nodeId);
  }
}

/** What is asked is written at once; the cursors may move before it is answered. */
function asWritten({ maxWaitMs, maxBytes, rack, topics }: FetchRequest): FetchRequest {
  return {
    maxWaitMs,
    maxBytes,
    rack,
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

export function isConnectionError(error: unknown): boolean {
  return (
    error instanceof KafkaAnswerError &&
    (error.type === 'NETWORK_EXCEPTION' || error.type === 'REQUEST_TIMED_OUT')
  );
}
