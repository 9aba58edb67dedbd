import { PostriderError } from '../../errors.ts';
import { BrokerConnection, type ConnectionSettings } from '../kafkajs/broker-connection.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import { initProducerIdExchange, type ProducerIdentity } from '../protocol/init-producer-id.ts';
import {
  metadataExchange,
  type BrokerAddress,
  type ClusterMetadata,
} from '../protocol/metadata.ts';
import {
  produceExchange,
  type ProducedPartition,
  type ProduceRequest,
} from '../protocol/produce.ts';
import { LatestMetadata, type TopicMetadata } from './latest-metadata.ts';

export type { TopicMetadata } from './latest-metadata.ts';

/** A broker that hangs holds a request up for so long. */
export const answerMs = 5_000;
/** For the answer to arrive after the time that the broker itself may take. */
export const graceMs = 3_000;

/**
 * What a producer asks brokers, each answer as it came: an error of one partition is that partition's. Every
 * method rejects when no answer comes, because the connection is lost, a broker hangs or is not known; what was
 * asked may then have been done all the same.
 */
export interface ProducerCluster {
  /** Asks a broker about these topics, and for the addresses of all brokers. */
  refresh(topics: readonly string[]): Promise<void>;
  /**
   * As `refresh`, of the broker that was asked longest ago: one that has lost touch with the others answers as well, and
   * may be the only one that is connected.
   */
  refreshInTurn(topics: readonly string[]): Promise<void>;
  /**
   * As of the last refresh that asked for it, and of each partition no earlier leader than was known before;
   * undefined: never asked for, or not there.
   */
  topic(name: string): TopicMetadata | undefined;
  /** Why the last refresh that asked for it brought nothing. */
  topicError(name: string): KafkaErrorName | undefined;
  produce(nodeId: number, request: ProduceRequest): Promise<readonly ProducedPartition[]>;
  initProducerId(): Promise<ProducerIdentity>;
  /** Whoever waits for an answer is rejected. */
  close(): void;
}

/**
 * A cluster for writing, over connections of its own, which nobody shares. The client library has it as well, so
 * nothing of reading is in here.
 */
export class WritingCluster implements ProducerCluster {
  readonly #seeds: readonly BrokerAddress[];
  readonly #settings: ConnectionSettings;
  readonly #connections = new Map<number, BrokerConnection>();
  #brokers = new Map<number, BrokerAddress>();
  readonly #metadata = new LatestMetadata();
  /** In which turn a broker was asked last what any broker may be asked, by its node id. */
  readonly #turns = new Map<number, number>();
  #turn = 0;
  #nextSeed = 0;
  #isClosed = false;

  /** @param seeds `host:port` each */
  constructor(seeds: readonly string[], settings: ConnectionSettings) {
    this.#seeds = seeds.map((seed, index) => seedAddress(seed, index));
    this.#settings = settings;
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
    return (await this.connection(nodeId).send(produceExchange(request), timeoutMs)).partitions;
  }

  async initProducerId(): Promise<ProducerIdentity> {
    return this.askAny((connection) => connection.send(initProducerIdExchange, answerMs));
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  protected async askAny<T>(
    ask: (connection: BrokerConnection) => Promise<T>,
    nodeIds: readonly number[] = this.#nearestFirst(),
  ): Promise<T> {
    let failure: unknown;
    for (const nodeId of nodeIds) {
      this.#turns.set(nodeId, (this.#turn += 1));
      try {
        return await ask(this.connection(nodeId));
      } catch (error) {
        if (this.#isClosed || (error instanceof PostriderError && !error.retry)) throw error;
        failure = error;
        if (nodeId < 0) this.#nextSeed += 1;
      }
    }
    throw failure;
  }

  /** The brokers that are connected come first, then those that are known, then those from the settings. */
  #nearestFirst(): readonly number[] {
    const known = [...this.#brokers.keys()];
    const connected = known.filter((nodeId) => this.#connections.get(nodeId)?.isConnected === true);
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

  protected connection(nodeId: number): BrokerConnection {
    if (this.#isClosed) throw new PostriderError('stopped', 'The connection to Kafka is closed');
    const open = this.#connections.get(nodeId);
    if (open?.isGone === false) return open;
    const address = nodeId < 0 ? this.#seeds[-1 - nodeId] : this.#brokers.get(nodeId);
    if (address === undefined) throw new KafkaAnswerError('LEADER_NOT_AVAILABLE', `node ${nodeId}`);
    const connection = new BrokerConnection(address.host, address.port, this.#settings);
    this.#connections.set(nodeId, connection);
    return connection;
  }

  /** All but topics that are others than are known by their names. */
  protected learn({ brokers, topics }: ClusterMetadata): void {
    for (const broker of brokers) this.learnBroker(broker);
    for (const nodeId of this.#brokers.keys()) {
      if (brokers.some((broker) => broker.nodeId === nodeId)) continue;
      this.#brokers.delete(nodeId);
      this.#drop(nodeId);
    }
    for (const seed of this.#seeds) this.#nameSeed(seed, brokers);
    for (const topic of topics) if (!this.#metadata.isOther(topic)) this.#metadata.learn(topic);
  }

  protected learnBroker(broker: BrokerAddress): void {
    const known = this.#brokers.get(broker.nodeId);
    if (known?.host === broker.host && known.port === broker.port) return;
    this.#brokers.set(broker.nodeId, broker);
    this.#drop(broker.nodeId);
  }

  /** The brokers have told their own addresses; what is connected to one of them stays. */
  #nameSeed(
    { nodeId: seedId, host, port }: BrokerAddress,
    brokers: readonly BrokerAddress[],
  ): void {
    const open = this.#connections.get(seedId);
    if (open === undefined) return;
    const named = brokers.find((broker) => broker.host === host && broker.port === port)?.nodeId;
    if (named !== undefined) this.#turns.set(named, this.#turn);
    this.#connections.delete(seedId);
    if (named === undefined || this.#connections.has(named)) open.close();
    else this.#connections.set(named, open);
  }

  #drop(nodeId: number): void {
    this.#connections.get(nodeId)?.close();
    this.#connections.delete(nodeId);
  }
}

/** Nodes that are known by their address alone have numbers below zero. */
function seedAddress(seed: string, index: number): BrokerAddress {
  const colon = seed.lastIndexOf(':');
  return { nodeId: -1 - index, host: seed.slice(0, colon), port: Number(seed.slice(colon + 1)) };
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
