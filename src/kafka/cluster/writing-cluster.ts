import { PostriderError } from '../../errors.ts';
import {
  metadataExchange,
  parseBroker,
  type BrokerAddress,
  type ClusterMetadata,
} from '../protocol/metadata.ts';
import type { BrokerConnection } from '../kafkajs/broker-connection.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import {
  initProducerIdExchange,
  produceExchange,
  type ProducedPartition,
  type ProduceRequest,
  type ProducerIdentity,
} from '../protocol/produce.ts';
import { answerMs, graceMs, type Connections, type Purpose } from './connections.ts';
import { LatestMetadata, type TopicMetadata } from './latest-metadata.ts';

/**
 * The questions of a producer, each answer as it came: an error of one partition is that partition's. Every
 * method rejects when no answer comes, because the connection is lost, a broker hangs or is not known; what was
 * asked may then have been done all the same.
 */
export interface ProducerCluster {
  /** Asks a broker about these topics, and for the addresses of all brokers. */
  refresh(topics: readonly string[]): Promise<void>;
  /**
   * Refreshes from the broker that was asked longest ago: one that has lost touch with the others answers as well, and
   * may be the only one that is connected.
   */
  refreshInTurn(topics: readonly string[]): Promise<void>;
  /**
   * The topic by the last refresh that asked for it, and of each partition no earlier leader than was known before;
   * undefined: never asked for, or not there.
   */
  topic(name: string): TopicMetadata | undefined;
  /** Why the last refresh that asked for it brought nothing. */
  topicError(name: string): KafkaErrorName | undefined;
  produce(nodeId: number, request: ProduceRequest): Promise<readonly ProducedPartition[]>;
  initProducerId(): Promise<ProducerIdentity>;
  /** Rejects all that wait for an answer. */
  close(): void;
}

/**
 * A cluster for writing. Its batches go over connections that nobody shares: what waits for replicas holds up other
 * requests of its connection. The client library has it as well, so nothing of reading is in here.
 */
export class WritingCluster implements ProducerCluster {
  readonly #seeds: readonly BrokerAddress[];
  readonly #connections: Connections;
  protected readonly number: number;
  #brokers = new Map<number, BrokerAddress>();
  readonly #metadata = new LatestMetadata();
  /** In which turn a broker was asked last what any broker may be asked, or left a write unanswered, by its node id. */
  readonly #turns = new Map<number, number>();
  #turn = 0;
  #nextSeed = 0;
  #isClosed = false;
  /** The callers that wait, each with its broker. They are told if this is closed or the broker is gone. */
  readonly #waiting = new Map<(error: Error) => void, number>();

  /** @param seeds `host:port` each */
  constructor(seeds: readonly string[], connections: Connections) {
    this.#seeds = seeds.map((seed, index) => seedAddress(seed, index));
    this.#connections = connections;
    this.number = connections.enter();
  }

  protected get own(): Purpose {
    return `own ${this.number}`;
  }

  /** The connection for requests that any broker may answer. */
  protected get questions(): Purpose {
    return this.own;
  }

  async refresh(topics: readonly string[]): Promise<void> {
    await this.refreshFrom(this.#nearestFirst(), topics);
  }

  async refreshInTurn(topics: readonly string[]): Promise<void> {
    await this.refreshFrom(this.inTurn(), topics);
  }

  protected async refreshFrom(
    nodeIds: readonly number[],
    topics: readonly string[],
  ): Promise<void> {
    const told = await this.#askAbout(topics, nodeIds);
    this.learn(told);
    const others = told.topics.filter((topic) => this.#metadata.isOther(topic));
    if (others.length === 0) return;
    // Nothing tells a former topic's id from a later one's, and a broker that has lost touch with the others goes on
    // telling the former one's. So another broker has to say the same.
    const names = others.map(({ name }) => name);
    const confirmed = await this.#askAbout(names, this.inTurn());
    for (const topic of confirmed.topics)
      if (others.some(({ name, id }) => name === topic.name && id === topic.id))
        this.#metadata.learn(topic);
  }

  async #askAbout(topics: readonly string[], nodeIds: readonly number[]): Promise<ClusterMetadata> {
    const exchange = metadataExchange(topics);
    return this.askAny((connection) => connection.send(exchange, answerMs), nodeIds);
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#metadata.topic(name);
  }

  topicError(name: string): KafkaErrorName | undefined {
    return this.#metadata.error(name);
  }

  async produce(nodeId: number, request: ProduceRequest): Promise<readonly ProducedPartition[]> {
    const timeoutMs = request.timeoutMs + graceMs;
    const exchange = produceExchange(request);
    try {
      const answer = await this.over(nodeId, this.own, (connection) =>
        connection.send(exchange, timeoutMs),
      );
      return answer.partitions;
    } catch (error) {
      // One that hangs would let the question who leads wait for as long as it may, so others are asked before it.
      this.#hadItsTurn(nodeId);
      throw error;
    }
  }

  async initProducerId(): Promise<ProducerIdentity> {
    return this.askAny((connection) => connection.send(initProducerIdExchange(), answerMs));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const reject of this.#waiting.keys()) reject(closed());
    this.#connections.leave(this.number);
  }

  protected async askAny<T>(
    ask: (connection: BrokerConnection) => Promise<T>,
    nodeIds: readonly number[] = this.#nearestFirst(),
  ): Promise<T> {
    let failure: unknown;
    for (const nodeId of nodeIds) {
      this.#hadItsTurn(nodeId);
      try {
        return await this.over(nodeId, this.questions, ask);
      } catch (error) {
        if (this.#isClosed || (error instanceof PostriderError && !error.retry)) throw error;
        failure = error;
        if (nodeId < 0) this.#nextSeed += 1;
      }
    }
    throw failure;
  }

  #hadItsTurn(nodeId: number): void {
    this.#turns.set(nodeId, (this.#turn += 1));
  }

  /** The brokers that are connected come first, then those that are known, then those from the settings. */
  #nearestFirst(): readonly number[] {
    const known = [...this.#brokers.keys()];
    const connected = Array.from(this.#brokers.values())
      .filter((broker) => this.#connections.isConnected(broker, this.questions))
      .map(({ nodeId }) => nodeId);
    const others = known.filter((nodeId) => !connected.includes(nodeId));
    return [...shuffled(connected), ...shuffled(others), ...this.#seedIds()];
  }

  /** The broker that was asked longest ago comes first; those from the settings come last. */
  protected inTurn(): readonly number[] {
    const turnOf = (nodeId: number): number => this.#turns.get(nodeId) ?? 0;
    const known = shuffled([...this.#brokers.keys()]);
    known.sort((a, b) => turnOf(a) - turnOf(b));
    return [...known, ...this.#seedIds()];
  }

  #seedIds(): readonly number[] {
    return this.#seeds.map(
      (_, index) => this.#seeds[(this.#nextSeed + index) % this.#seeds.length]?.nodeId ?? 0,
    );
  }

  /** Rejects as soon as this is closed or the broker is gone, whatever others still use the connection for. */
  protected async over<T>(
    nodeId: number,
    purpose: Purpose,
    ask: (connection: BrokerConnection) => Promise<T>,
  ): Promise<T> {
    return this.unlessGone(nodeId, (address) => ask(this.#connections.to(address, purpose)));
  }

  protected async unlessGone<T>(
    nodeId: number,
    ask: (address: BrokerAddress) => Promise<T>,
  ): Promise<T> {
    if (this.#isClosed) throw closed();
    const address = nodeId < 0 ? this.#seeds[-1 - nodeId] : this.#brokers.get(nodeId);
    if (address === undefined) throw new KafkaAnswerError('LEADER_NOT_AVAILABLE', `node ${nodeId}`);
    let reject: (error: Error) => void = () => undefined;
    const ended = new Promise<never>((_resolve, rejectEnded) => {
      reject = rejectEnded;
    });
    this.#waiting.set(reject, nodeId);
    try {
      return await Promise.race([ask(address), ended]);
    } finally {
      this.#waiting.delete(reject);
    }
  }

  /** All but topics that are others than are known by their names. */
  protected learn({ brokers, topics }: ClusterMetadata): void {
    for (const broker of brokers) this.learnBroker(broker);
    for (const nodeId of this.#brokers.keys())
      if (!brokers.some((broker) => broker.nodeId === nodeId)) this.#drop(nodeId);
    for (const seed of this.#seeds) this.#nameSeed(seed, brokers);
    for (const topic of topics) if (!this.#metadata.isOther(topic)) this.#metadata.learn(topic);
  }

  protected learnBroker(broker: BrokerAddress): void {
    const known = this.#brokers.get(broker.nodeId);
    if (known?.host === broker.host && known.port === broker.port) return;
    this.#drop(broker.nodeId);
    this.#brokers.set(broker.nodeId, broker);
  }

  #drop(gone: number): void {
    this.#brokers.delete(gone);
    for (const [reject, nodeId] of this.#waiting)
      if (nodeId === gone) reject(new KafkaAnswerError('LEADER_NOT_AVAILABLE', `node ${gone}`));
  }

  /** The brokers have told their own addresses; who was asked by one of them has had its turn. */
  #nameSeed(
    { nodeId: seedId, host, port }: BrokerAddress,
    brokers: readonly BrokerAddress[],
  ): void {
    const turn = this.#turns.get(seedId);
    const named = brokers.find((broker) => broker.host === host && broker.port === port)?.nodeId;
    if (turn === undefined || named === undefined) return;
    this.#turns.delete(seedId);
    this.#turns.set(named, this.#turn);
  }
}

/** Nodes that are known by their address alone have numbers below zero. */
function seedAddress(seed: string, index: number): BrokerAddress {
  return { nodeId: -1 - index, ...parseBroker(seed) };
}

function closed(): PostriderError {
  return new PostriderError('stopped', 'The connection to Kafka is closed');
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
