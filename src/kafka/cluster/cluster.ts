import { PostriderError } from '../../errors.ts';
import { errorName, KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import {
  epochEndExchange,
  fetchExchange,
  type EpochEndAnswer,
  type EpochEndRequest,
  type FetchAnswer,
  type FetchRequest,
} from '../protocol/fetch.ts';
import type { Exchange } from '../protocol/fields.ts';
import { initProducerIdExchange, type ProducerIdentity } from '../protocol/produce.ts';
import { metadataExchange, noTopicId, type BrokerAddress } from '../protocol/metadata.ts';
import { answerMs, graceMs, type Connections, type Purpose } from './connections.ts';
import type { SharedFetches } from './shared-fetches.ts';
import { WritingCluster, type ProducerCluster } from './writing-cluster.ts';
import type { TopicMetadata } from './latest-metadata.ts';

/** The questions to brokers, beside those of a producer's cluster: answers come as they are, or the method rejects. */
export interface Cluster extends ProducerCluster {
  /** A topic as this node knows it; undefined: not at all. `topic` says it too, where it is not older. */
  describe(nodeId: number, topic: string): Promise<TopicMetadata | undefined>;
  fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer>;
  epochEnd(nodeId: number, request: EpochEndRequest): Promise<EpochEndAnswer>;
  listOffsets(nodeId: number, request: ListOffsetsRequest): Promise<readonly ListedOffset[]>;
  /**
   * The node that coordinates the group.
   * @param failed who was found last and did not do as a coordinator, or -1 where nobody was found: other brokers are
   * asked before it, in turn
   */
  findCoordinator(groupId: string, failed?: number): Promise<number>;
  /** A request to a group's coordinator, by kafkajs's name of it, and its answer as kafkajs reads it. */
  askCoordinator<T>(
    nodeId: number,
    apiName: string,
    request: object,
    timeoutMs?: number,
  ): Promise<T>;
}

/** The client of readers: it opens clusters, for a process in this zone. */
export interface ClusterClient {
  /**
   * Connects when something is asked; whoever opens it closes it.
   * @param sharing the fetches of all who name the same share a connection to each broker, and what is asked of
   * coordinators another one; undefined: fetches wait over a connection of the cluster's own, and so do joins
   */
  openCluster(sharing?: Sharing): Cluster;
  /** Empty: unknown. */
  readonly rack: string;
}

/** Members of groups, or followers: one that is busy holds up none of the other kind. */
export type Sharing = 'read' | 'follow';

/** For one partition's first offset, and one past its last. */
export const earliestTime = -2;
export const latestTime = -1;

export interface ListOffsetsRequest {
  readonly topic: string;
  readonly partitions: readonly number[];
  /** `earliestTime`, `latestTime`, or for the first offset that was appended at that time or later. */
  readonly timeMs: number;
}

export interface ListedOffset {
  readonly partition: number;
  readonly error: KafkaErrorName;
  /** -1: nothing was appended at that time or later. */
  readonly offset: number;
}

/** FindCoordinator's numbers. */
const coordinatorTypes = { group: 0, transactions: 1 };

/** One that also reads: a fetch that waits holds no one up. */
export class KafkaCluster extends WritingCluster implements Cluster {
  readonly #fetches: SharedFetches | undefined;

  /** @param fetches that this shares with others */
  constructor(seeds: readonly string[], connections: Connections, fetches?: SharedFetches) {
    super(seeds, connections);
    this.#fetches = fetches;
  }

  protected override get questions(): Purpose {
    return 'questions';
  }

  override close(): void {
    super.close();
    this.#fetches?.forget(this);
  }

  /** @throws PostriderError `kafka-refused` where a topic has no id: brokers find nothing to read in it then */
  protected override async refreshFrom(
    nodeIds: readonly number[],
    topics: readonly string[],
  ): Promise<void> {
    await super.refreshFrom(nodeIds, topics);
    const withoutId = topics.find((name) => this.topic(name)?.id === noTopicId);
    if (withoutId === undefined) return;
    throw new PostriderError(
      'kafka-refused',
      `Topic ${withoutId} has no id, by which it is read: inter.broker.protocol.version of all brokers must be 2.8 or newer`,
    );
  }

  async describe(nodeId: number, topic: string): Promise<TopicMetadata | undefined> {
    const metadata = await this.#ask(nodeId, metadataExchange([topic]));
    this.learn(metadata);
    return metadata.topics.find(({ name, error }) => name === topic && error === 'NONE');
  }

  async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    const fetches = this.#fetches;
    if (fetches !== undefined)
      return this.unlessGone(nodeId, (address) => fetches.fetch(this, address, request));
    return this.over(nodeId, this.own, (connection) =>
      connection.send(fetchExchange(request), request.maxWaitMs + graceMs),
    );
  }

  async epochEnd(nodeId: number, request: EpochEndRequest): Promise<EpochEndAnswer> {
    return this.#ask(nodeId, epochEndExchange(request));
  }

  async listOffsets(
    nodeId: number,
    { topic, partitions, timeMs }: ListOffsetsRequest,
  ): Promise<readonly ListedOffset[]> {
    interface Listed {
      readonly partition: number;
      readonly errorCode: number;
      readonly offset: string;
    }
    interface Answer {
      readonly responses: readonly { readonly partitions: readonly Listed[] }[];
    }
    const wanted = partitions.map((partition) => ({ partition, timestamp: timeMs }));
    const request = { replicaId: -1, isolationLevel: 0, topics: [{ topic, partitions: wanted }] };
    const { responses } = await this.over(nodeId, this.questions, (connection) =>
      connection.ask<Answer>('ListOffsets', request, answerMs),
    );
    return responses.flatMap(({ partitions: listed }) =>
      listed.map(({ partition, errorCode, offset }) => ({
        partition,
        error: errorName(errorCode),
        offset: Number(offset),
      })),
    );
  }

  async findCoordinator(groupId: string, failed?: number): Promise<number> {
    const nodeIds = failed === undefined ? undefined : await this.#inTurnBefore(failed);
    return this.#coordinatorOf('group', groupId, nodeIds);
  }

  /**
   * The producer id of a transactional id, in a higher epoch than whoever asked before has: a partition that has seen the
   * higher one takes nothing of the lower one any more, with transactions or without.
   */
  async fencingProducerId(transactionalId: string): Promise<ProducerIdentity> {
    const nodeId = await this.#coordinatorOf('transactions', transactionalId);
    const exchange = initProducerIdExchange(transactionalId);
    return this.over(nodeId, this.questions, (connection) => connection.send(exchange, answerMs));
  }

  async #coordinatorOf(
    type: keyof typeof coordinatorTypes,
    name: string,
    nodeIds?: readonly number[],
  ): Promise<number> {
    const { errorCode, coordinator } = await this.askAny(
      (connection) =>
        connection.ask<{ readonly errorCode: number; readonly coordinator: BrokerAddress }>(
          'GroupCoordinator',
          { groupId: name, coordinatorType: coordinatorTypes[type] },
          answerMs,
        ),
      nodeIds,
    );
    const error = errorName(errorCode);
    if (error !== 'NONE') throw new KafkaAnswerError(error, `the coordinator of ${type} ${name}`);
    this.learnBroker(coordinator);
    return coordinator.nodeId;
  }

  async askCoordinator<T>(
    nodeId: number,
    apiName: string,
    request: object,
    timeoutMs: number = answerMs,
  ): Promise<T> {
    const purpose = this.#fetches === undefined ? (`join ${this.number}` as const) : 'groups';
    return this.over(nodeId, purpose, (connection) =>
      connection.ask<T>(apiName, request, timeoutMs),
    );
  }

  async #ask<T>(nodeId: number, exchange: Exchange<T>): Promise<T> {
    return this.over(nodeId, this.questions, (connection) => connection.send(exchange, answerMs));
  }

  /** That one comes last. */
  async #inTurnBefore(last: number): Promise<readonly number[]> {
    // Who has looked for a coordinator alone knows of no other broker.
    await this.refresh([]);
    return [...this.inTurn()].sort((a, b) => Number(a === last) - Number(b === last));
  }
}

/**
 * The offsets of a topic's partitions from their leaders, by partition.
 * @param partitions all of the topic if not given
 * @throws KafkaAnswerError of the first partition without an answer; whatever the connection throws
 */
export async function listOffsets(
  cluster: Cluster,
  topic: string,
  timeMs: number,
  partitions?: readonly number[],
): Promise<Map<number, number>> {
  const known = cluster.topic(topic)?.partitions;
  if (known === undefined) {
    const error = cluster.topicError(topic) ?? 'UNKNOWN_TOPIC_OR_PARTITION';
    throw new KafkaAnswerError(error, `topic ${topic}`);
  }
  const byLeader = new Map<number, number[]>();
  for (const partition of partitions ?? known.keys()) {
    const leader = known[partition]?.leader ?? -1;
    if (leader < 0) throw new KafkaAnswerError('LEADER_NOT_AVAILABLE', nameOf(topic, partition));
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), partition]);
  }
  const answers = await Promise.all(
    Array.from(byLeader, ([leader, led]) =>
      cluster.listOffsets(leader, { topic, partitions: led, timeMs }),
    ),
  );
  const offsets = new Map<number, number>();
  for (const { partition, error, offset } of answers.flat()) {
    if (error !== 'NONE') throw new KafkaAnswerError(error, nameOf(topic, partition));
    offsets.set(partition, offset);
  }
  return offsets;
}

function nameOf(topic: string, partition: number): string {
  return `partition ${partition} of ${topic}`;
}
