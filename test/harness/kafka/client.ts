import type {
  Cluster,
  ListedOffset,
  ListOffsetsRequest,
  TopicMetadata,
} from '../../../src/kafka/cluster/cluster.ts';
import { LatestMetadata } from '../../../src/kafka/cluster/latest-metadata.ts';
import { asError } from '../../../src/errors.ts';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import type { EpochEndAnswer, EpochEndRequest } from '../../../src/kafka/protocol/epoch-end.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type { FetchAnswer, FetchRequest } from '../../../src/kafka/protocol/fetch.ts';
import { noTopicId, type DescribedTopic } from '../../../src/kafka/protocol/metadata.ts';
import type { ProducerIdentity } from '../../../src/kafka/protocol/init-producer-id.ts';
import type { ProducedPartition, ProduceRequest } from '../../../src/kafka/protocol/produce.ts';
import type { SimulatedProcess, VirtualTime } from '../../lab/simulation/virtual-time.ts';
import type { GroupRequest } from '../../kafka/ask-group.ts';
import { asWritten } from '../../kafka/fake-cluster.ts';
import { SimulatedAdmin } from './admin.ts';
import type { NodeState, SimulatedBrokers } from './brokers.ts';
import { fairWeather } from './weather.ts';
import {
  SimulatedTransactionalProducer,
  type TransactionalOptions,
} from './transactional-producer.ts';
import { uncompressed } from '../../kafka/uncompressed.ts';

/** As of the real cluster's connections. */
const answerMs = 5_000;
const graceMs = 3_000;
const lookAgainMs = 250;
/** What failed is asked for again within so long: a producer waits for 6 s at most. */
const retryMs = 7_000;
/** What is asked again and again; in fair weather, it makes no difference how long the answer is on its way. */
const unhurried: ReadonlySet<string> = new Set(['Fetch', 'Metadata', 'Heartbeat']);

/** What a process has of Kafka; `as` the client that roles are given. */
export function simulatedClient(
  brokers: SimulatedBrokers,
  owner: SimulatedProcess,
  rack: string = '',
): KafkaClient {
  return {
    rack,
    compressor: uncompressed,
    openCluster: () => new SimulatedCluster(brokers, owner, rack),
    admin: () => new SimulatedAdmin(brokers, owner),
    producer: (options: TransactionalOptions) =>
      new SimulatedTransactionalProducer(
        brokers,
        new SimulatedCluster(brokers, owner, rack),
        options,
      ),
  } as unknown as KafkaClient;
}

/**
 * A client's connections: what is asked takes time both ways, may get lost before or after a broker has done it,
 * and is given up when no answer comes.
 */
export class SimulatedCluster implements Cluster {
  readonly #brokers: SimulatedBrokers;
  readonly #owner: SimulatedProcess;
  readonly #rack: string;
  readonly #metadata = new LatestMetadata();
  /**
   * Until when a connection is busy: brokers answer one request of it after the other. Fetches have one of their own
   * to each broker, whose number is negative.
   */
  readonly #busy = new Map<number, Promise<void>>();
  readonly #pending = new Set<(error: Error) => void>();
  /** Those that have answered what was asked last. */
  readonly #connected = new Set<number>();
  /** In which turn a broker was asked last what any broker may be asked. */
  readonly #turns = new Map<number, number>();
  #turn = 0;
  #isClosed = false;

  constructor(brokers: SimulatedBrokers, owner: SimulatedProcess, rack: string) {
    this.#brokers = brokers;
    this.#owner = owner;
    this.#rack = rack;
  }

  async refresh(topics: readonly string[]): Promise<void> {
    await this.#refreshFrom(this.#nearestFirst(), topics);
  }

  async refreshInTurn(topics: readonly string[]): Promise<void> {
    await this.#refreshFrom(this.#inTurn(), topics);
  }

  async #refreshFrom(nodeIds: readonly number[], topics: readonly string[]): Promise<void> {
    const answer = (nodeId: number): void => {
      for (const name of topics) this.#metadata.learn(this.#describe(nodeId, name));
    };
    await this.#askAny('Metadata', answer, nodeIds);
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#metadata.topic(name);
  }

  topicError(name: string): KafkaErrorName | undefined {
    return this.#metadata.error(name);
  }

  async describe(nodeId: number, topic: string): Promise<TopicMetadata | undefined> {
    return this.#ask('Metadata', nodeId, answerMs, () => {
      const described = this.#describe(nodeId, topic);
      this.#metadata.learn(described);
      return described.error === 'NONE' ? described : undefined;
    });
  }

  async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    const written = asWritten(request);
    return this.#ask('Fetch', nodeId, request.maxWaitMs + graceMs, () =>
      this.#brokers.fetch(nodeId, written),
    );
  }

  async produce(nodeId: number, request: ProduceRequest): Promise<readonly ProducedPartition[]> {
    let answers: readonly ProducedPartition[] = [];
    try {
      answers = await this.#ask('Produce', nodeId, request.timeoutMs + graceMs, () =>
        this.#brokers.produce(nodeId, request),
      );
      return answers;
    } finally {
      const isWritten = answers.length > 0 && answers.every(({ error }) => error === 'NONE');
      if (!isWritten) this.#time.liveThrough(retryMs);
    }
  }

  async initProducerId(): Promise<ProducerIdentity> {
    return this.#askAny('InitProducerId', () => ({ id: this.#brokers.newProducerId(), epoch: 0 }));
  }

  async epochEnd(nodeId: number, request: EpochEndRequest): Promise<EpochEndAnswer> {
    return this.#ask('OffsetForLeaderEpoch', nodeId, answerMs, () =>
      this.#brokers.epochEnd(nodeId, request),
    );
  }

  async listOffsets(nodeId: number, request: ListOffsetsRequest): Promise<readonly ListedOffset[]> {
    return this.#ask('ListOffsets', nodeId, answerMs, () =>
      this.#brokers.listOffsets(nodeId, request),
    );
  }

  async findCoordinator(groupId: string, failed?: number): Promise<number> {
    const failedLast = this.#inTurn().sort((a, b) => Number(a === failed) - Number(b === failed));
    return this.#askAny(
      'FindCoordinator',
      (nodeId) => this.#brokers.coordinatorOf(nodeId, groupId),
      failed === undefined ? undefined : failedLast,
    );
  }

  async askCoordinator<T>(
    nodeId: number,
    api: string,
    request: object,
    timeoutMs: number = answerMs,
  ): Promise<T> {
    return this.#ask(
      api,
      nodeId,
      timeoutMs,
      async () =>
        (await this.#brokers.askGroup(nodeId, api, request as GroupRequest, timeoutMs)) as T,
    );
  }

  /** Of the first broker that is up. */
  async askCoordinatorOfTransactions<T>(api: string, answer: () => T): Promise<T> {
    const { nodes, isUp } = this.#brokers;
    const nodeId = [...nodes.keys()].find(isUp) ?? 1;
    return this.#ask(api, nodeId, answerMs, answer);
  }

  close(): void {
    this.#isClosed = true;
    this.#breakAll(new KafkaAnswerError('NETWORK_EXCEPTION', 'the connection was closed'));
  }

  #describe(nodeId: number, name: string): DescribedTopic {
    const { topics, withheld } = this.#brokers;
    const topic = topics.get(name);
    const nothing = { name, id: noTopicId, partitions: [] };
    if (withheld.has(name)) return { ...nothing, error: 'TOPIC_AUTHORIZATION_FAILED' };
    if (topic === undefined) return { ...nothing, error: 'UNKNOWN_TOPIC_OR_PARTITION' };
    const partitions = this.#brokers.describe(nodeId, topic);
    return { name, error: 'NONE', id: topic.id, partitions };
  }

  /** One that is suspended costs the time until it is given up. */
  async #askAny<T>(
    api: string,
    answer: (nodeId: number) => T | Promise<T>,
    nodeIds: readonly number[] = this.#nearestFirst(),
  ): Promise<T> {
    let failure: unknown;
    for (const nodeId of nodeIds) {
      this.#turns.set(nodeId, (this.#turn += 1));
      try {
        return await this.#ask(api, nodeId, answerMs, () => answer(nodeId));
      } catch (error) {
        if (this.#isClosed || !isConnectionError(error)) throw error;
        failure = error;
      }
    }
    this.#time.liveThrough(retryMs);
    throw failure;
  }

  /** As the real one: brokers that are connected come first, then the others in the order of the settings. */
  #nearestFirst(): readonly number[] {
    const ids = [...this.#brokers.nodes.keys()];
    const connected = ids.filter((nodeId) => this.#connected.has(nodeId));
    const from = Math.floor(this.#time.random() * connected.length);
    const others = ids.filter((nodeId) => !this.#connected.has(nodeId));
    return [...connected.slice(from), ...connected.slice(0, from), ...others];
  }

  #inTurn(): number[] {
    const turnOf = (nodeId: number): number => this.#turns.get(nodeId) ?? 0;
    return [...this.#brokers.nodes.keys()].sort((a, b) => turnOf(a) - turnOf(b));
  }

  async #ask<T>(
    api: string,
    nodeId: number,
    timeoutMs: number,
    answer: () => T | Promise<T>,
  ): Promise<T> {
    if (this.#isClosed) throw new KafkaAnswerError('NETWORK_EXCEPTION', 'the connection is closed');
    const connection = api === 'Fetch' ? -nodeId : nodeId;
    const untilMs = this.#time.livedMs + timeoutMs;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#pending.add(reject);
    const travel = (): Promise<T> => this.#travel(api, nodeId, untilMs, answer);
    const former = this.#busy.get(connection);
    const settled = (): void => {
      this.#pending.delete(reject);
      if (this.#busy.get(connection) === isOver) this.#busy.delete(connection);
    };
    const isOver = (former === undefined ? travel() : former.then(travel)).then(
      (value) => {
        settled();
        this.#connected.add(nodeId);
        resolve(value);
      },
      (error: unknown) => {
        settled();
        if (isConnectionError(error)) this.#connected.delete(nodeId);
        reject(asError(error));
      },
    );
    this.#busy.set(connection, isOver);
    return promise;
  }

  /** There, the broker's work, and back. */
  async #travel<T>(
    api: string,
    nodeId: number,
    untilMs: number,
    answer: () => T | Promise<T>,
  ): Promise<T> {
    const brokers = this.#brokers;
    const { weather } = brokers;
    // In fair weather, it makes no difference on which way it takes its time.
    const isFair = weather === fairWeather && !brokers.areDivided;
    if (!isFair && this.#takesTime) await this.#wait(brokers.between(weather.latencyMs));
    if (this.#stateOf(nodeId) !== 'up') await this.#reach(api, nodeId, untilMs);
    if (brokers.chance(weather.lostRequests)) throw broken(nodeId);
    const answered = await answer();
    const throttled = brokers.chance(0.2) ? weather.throttleMs : 0;
    // An answer waits for who is suspended.
    if (this.#owner.suspendedUntilMs > this.#time.nowMs) await this.#wait(0);
    else if ((!isFair || !unhurried.has(api)) && this.#takesTime)
      await this.#wait(brokers.between(weather.latencyMs) + throttled);
    if (this.#stateOf(nodeId) !== 'up') await this.#reach(api, nodeId, untilMs);
    if (brokers.chance(weather.lostAnswers)) throw broken(nodeId);
    return answered;
  }

  /** Nothing of what is asked in a quiet matters, and each turn costs the simulation time. */
  get #takesTime(): boolean {
    return !this.#time.isQuiet || this.#brokers.areDivided;
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#time.after(ms, resolve, this.#owner);
    });
  }

  /** A broker that is gone refuses; one that is suspended says nothing until it goes on, or is given up. */
  async #reach(api: string, nodeId: number, untilMs: number): Promise<void> {
    while (this.#stateOf(nodeId) === 'suspended') {
      if (this.#time.livedMs >= untilMs)
        throw new KafkaAnswerError('REQUEST_TIMED_OUT', `node ${nodeId} did not answer ${api}`);
      await this.#wait(lookAgainMs);
    }
    if (this.#stateOf(nodeId) === 'down') throw broken(nodeId);
  }

  /** As the process sees it, through its own network. */
  #stateOf(nodeId: number): NodeState {
    const { cutOff } = this.#owner;
    if (cutOff !== undefined && (cutOff.node ?? nodeId) === nodeId)
      return cutOff.breaks ? 'down' : 'suspended';
    const state = this.#brokers.nodes.get(nodeId) ?? 'down';
    if (state === 'suspended') return state;
    return this.#brokers.isReachable(nodeId, this.#rack) ? 'up' : 'down';
  }

  #breakAll(error: Error): void {
    for (const reject of this.#pending) reject(error);
    this.#pending.clear();
  }

  get #time(): VirtualTime {
    return this.#brokers.time;
  }
}

function broken(nodeId: number): Error {
  return new KafkaAnswerError('NETWORK_EXCEPTION', `the connection to node ${nodeId} broke`);
}

function isConnectionError(error: unknown): boolean {
  return (
    error instanceof KafkaAnswerError &&
    (error.type === 'NETWORK_EXCEPTION' || error.type === 'REQUEST_TIMED_OUT')
  );
}
