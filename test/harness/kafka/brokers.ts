import {
  earliestTime,
  type ListedOffset,
  type ListOffsetsRequest,
} from '../../../src/kafka/cluster/cluster.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type { EpochEndAnswer, EpochEndRequest } from '../../../src/kafka/protocol/epoch-end.ts';
import type {
  FetchAnswer,
  FetchedPartition,
  FetchRequest,
} from '../../../src/kafka/protocol/fetch.ts';
import type { PartitionMetadata } from '../../../src/kafka/protocol/metadata.ts';
import type { ProducedPartition, ProduceRequest } from '../../../src/kafka/protocol/produce.ts';
import type { VirtualTime } from '../../lab/simulation/virtual-time.ts';
import type { GroupRequest } from '../../kafka/ask-group.ts';
import { isEmpty, refusedPartition, sentElsewhere } from './fetched-partitions.ts';
import { SimulatedGroup } from './group.ts';
import { IsolatedBroker } from './isolated.ts';
import { SimulatedPartition, type Appended } from './partition.ts';
import { rackOf, Racks } from './racks.ts';
import { SimulatedTransactions } from './transactions.ts';
import { damagedAnswer, fairWeather, oddAnswers, type Weather } from './weather.ts';

export interface SimulatedTopic {
  readonly name: string;
  readonly id: string;
  readonly config: Readonly<Record<string, string>>;
  readonly partitions: readonly SimulatedPartition[];
}

/**
 * `suspended`: it keeps its connections, and does nothing. `isolated`: clients reach it, and neither its peers nor the
 * controller do.
 */
export type NodeState = 'up' | 'suspended' | 'isolated' | 'down';

const replicationMs = 3;
/** Kafka's replica.lag.time.max.ms is 30 s; short, so that it happens. */
const lagMs = 10_000;
/** Until the controller misses a broker, and a broker that is back has caught up. */
const missedMs = [1_000, 9_000] as const;
const catchUpMs = [1_000, 5_000] as const;
/** Until everybody has found out that a broker has gone or is back, and has tried again what failed. */
const noticedMs = 20_000;
/** By then, a reader that rests for a fifth of a second between two fetches has what was written. */
const readMs = 225;
/** Until everybody has found out that a leader has moved: the end of a fetch that waits, and another one. */
const movedMs = 5_000;
const minInSync = 2;
const replicas = 3;
/**
 * While there is nothing to tell, brokers answer late: that saves the simulation most of its turns. Followers have to
 * know that there is nothing. A consumer that waits for half a second leaves no partition out, so that only one which
 * is assigned meanwhile has to wait with it.
 */
const followerWaitMs = 500;
const patientMs = 500;
const consumerWaitMs = 2_500;
/** A partition that cannot be read rests for half a minute of time that is lived through. */
const unreadableMs = 31_000;

/** Kafka in memory, request by request. Whoever asks does so through a `SimulatedCluster`. */
export class SimulatedBrokers {
  readonly time: VirtualTime;
  readonly topics: Map<string, SimulatedTopic> = new Map();
  readonly groups: Map<string, SimulatedGroup> = new Map();
  readonly nodes: Map<number, NodeState> = new Map();
  readonly #isolated = new Map<number, IsolatedBroker>();
  /** Partitions whose news nobody has read, and until when that is waited for. */
  readonly #unread = new Map<SimulatedPartition, number>();
  readonly racks: Racks;
  weather: Weather = fairWeather;
  /** Topics whose records are no event: they are written from time to time in any case. */
  readonly chatter: Set<string> = new Set();
  /** Nobody has a right to these any more, but to write to them. */
  readonly withheld: Set<string> = new Set();
  /** What has been written where; before anybody has it but the leader. */
  onAppend: (topic: string, partition: number) => void = () => undefined;
  readonly transactions: SimulatedTransactions = new SimulatedTransactions(this);
  readonly #byId = new Map<string, SimulatedTopic>();
  #producerIds = 1_000;

  constructor(time: VirtualTime, nodes: number, hasRacks: boolean) {
    this.time = time;
    this.racks = new Racks(nodes, hasRacks);
    for (let nodeId = 1; nodeId <= nodes; nodeId += 1) this.nodes.set(nodeId, 'up');
  }

  makeTopic(name: string, count: number, config: Readonly<Record<string, string>>): void {
    const ids = [...this.nodes.keys()];
    const id = String(this.topics.size + 1).padStart(32, '0');
    const partitions = Array.from({ length: count }, (_, index) => {
      const from = (index + this.topics.size) % ids.length;
      const turned = [...ids.slice(from), ...ids.slice(0, from)];
      return new SimulatedPartition({ name, id }, index, turned.slice(0, replicas));
    });
    const topic = { name, id, config, partitions };
    this.topics.set(name, topic);
    this.#byId.set(id, topic);
  }

  group(id: string): SimulatedGroup {
    const known = this.groups.get(id);
    if (known !== undefined) return known;
    const ids = [...this.nodes.keys()];
    const made = new SimulatedGroup(
      this.time,
      ids[this.groups.size % ids.length] ?? 1,
      this.withheld,
    );
    this.groups.set(id, made);
    return made;
  }

  readonly isUp = (nodeId: number): boolean => this.nodes.get(nodeId) === 'up';

  /** They don't all say the same. */
  get areDivided(): boolean {
    return this.#isolated.size > 0;
  }

  /** By clients in a rack. */
  isReachable(nodeId: number, rack: string): boolean {
    return this.racks.areConnected(nodeId, rack) && this.#answers(nodeId);
  }

  #answers(nodeId: number): boolean {
    return this.isUp(nodeId) || this.#isolated.has(nodeId);
  }

  /** A broker is killed, stopped for a while, cut off from the others, or back. */
  setNode(nodeId: number, state: NodeState, isRackCutOff: boolean = false): void {
    const former = this.nodes.get(nodeId);
    // What isn't up already isn't cut off beside that.
    if (former === state || (state === 'isolated' && former !== 'up')) return;
    const { time } = this;
    time.happened();
    time.liveThrough(noticedMs);
    this.nodes.set(nodeId, state);
    this.#isolated.get(nodeId)?.end();
    this.#isolated.delete(nodeId);
    this.racks.connect(nodeId);
    if (isRackCutOff) this.racks.cutOffWith(nodeId);
    if (state === 'isolated') {
      const groups = this.groups.values();
      this.#isolated.set(nodeId, new IsolatedBroker(nodeId, time, this.#partitions(), groups));
    }
    if (state === 'up') {
      time.after(this.between(catchUpMs), () => {
        if (this.isUp(nodeId)) this.#welcome(nodeId);
      });
      return;
    }
    if (former === 'up') {
      time.after(this.between(missedMs), () => {
        if (!this.isUp(nodeId)) this.#replace(nodeId);
      });
      time.after(lagMs, () => {
        if (this.isUp(nodeId)) return;
        for (const partition of this.#partitions()) {
          if (partition.leader !== nodeId) partition.dropReplica(nodeId);
          this.#replicateSoon(partition);
        }
      });
    }
  }

  /**
   * The network is well, nobody is told what no longer holds, no transaction is open, what was written has been read,
   * and no member of a group is missed.
   */
  get isSettled(): boolean {
    if (this.weather !== fairWeather || this.areDivided || this.withheld.size > 0) return false;
    if (!this.transactions.areOver || this.#isUnread) return false;
    for (const group of this.groups.values()) if (!group.isSettled) return false;
    return true;
  }

  get #isUnread(): boolean {
    for (const [partition, untilMs] of this.#unread) {
      if (untilMs > this.time.nowMs) return true;
      this.#unread.delete(partition);
    }
    return false;
  }

  /** Another broker leads the partition, or coordinates the group, though all are well. */
  moveLeader(partition: SimulatedPartition): void {
    partition.elect(this.isUp);
    this.#replicateSoon(partition);
    this.time.happened();
    this.time.liveThrough(movedMs);
  }

  between([least, most]: readonly [number, number]): number {
    return Math.round(least + (most - least) * this.time.random());
  }

  chance(share: number): boolean {
    return share > 0 && this.time.random() < share;
  }

  // What a node answers

  newProducerId(): number {
    this.#producerIds += 1;
    return this.#producerIds;
  }

  async produce(nodeId: number, request: ProduceRequest): Promise<readonly ProducedPartition[]> {
    const answers = request.topics.flatMap(({ topic, partitions }) =>
      partitions.map(async ({ partition, batch }) => ({
        topic,
        partition,
        message: null,
        appendedMs: undefined,
        ...(await this.#write(nodeId, topic, partition, batch, request.timeoutMs)),
      })),
    );
    const all: ProducedPartition[] = await Promise.all(answers);
    return this.chance(this.weather.oddAnswers) ? oddAnswers(all, this.time.random) : all;
  }

  /** To the leader's log; the others soon have it too. */
  append(partition: SimulatedPartition, batch: Buffer): Appended {
    const { time } = this;
    const { topic, index, end } = partition;
    const appended = partition.append(batch, time.nowMs);
    if (appended.error !== 'NONE') return appended;
    if (partition.end > end) {
      if (!this.chatter.has(topic)) {
        time.happened();
        this.#unread.set(partition, time.nowMs + readMs);
      }
      this.onAppend(topic, index);
    }
    time.after(replicationMs, () => {
      partition.replicate(this.isUp);
      this.#replicateSoon(partition);
    });
    return appended;
  }

  /** Replicas learn what readers may see with a fetch that comes after those that have brought it about. */
  #replicateSoon(partition: SimulatedPartition): void {
    if (!this.racks.exist) return;
    this.time.after(replicationMs, () => {
      partition.replicate(this.isUp);
    });
  }

  async #write(
    nodeId: number,
    topic: string,
    index: number,
    batch: Buffer,
    timeoutMs: number,
  ): Promise<Pick<ProducedPartition, 'error' | 'baseOffset'> & { readonly appendedMs?: number }> {
    const partition = this.#seenBy(nodeId, this.topics.get(topic)?.partitions[index]);
    if (partition === undefined) return refused('UNKNOWN_TOPIC_OR_PARTITION');
    if (partition.leader !== nodeId) return refused('NOT_LEADER_FOR_PARTITION');
    if (partition.inSync.size < minInSync) return refused('NOT_ENOUGH_REPLICAS');
    const { time } = this;
    const appended = this.append(partition, batch);
    if (appended.error !== 'NONE') return appended;
    const error = await new Promise<KafkaErrorName>((resolve) => {
      const end = partition.end;
      const timer = time.after(timeoutMs, () => {
        resolve('REQUEST_TIMED_OUT');
      });
      partition.whenReplicated(end, (settled) => {
        timer.isCancelled = true;
        resolve(settled);
      });
    });
    return error === 'NONE' ? appended : refused(error);
  }

  async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    const { time } = this;
    const first = this.#fetchNow(nodeId, request);
    if (request.maxWaitMs === 0 || !isEmpty(first)) return this.#weathered(first);
    const watched: SimulatedPartition[] = [];
    let isFollower = false;
    for (const { id, partitions } of request.topics) {
      const topic = this.#byId.get(id);
      if (topic === undefined) continue;
      isFollower ||= topic.config['cleanup.policy']?.includes('compact') === true;
      for (const { partition } of partitions) {
        const log = this.#seenBy(nodeId, topic.partitions[partition]);
        if (log !== undefined) watched.push(log);
      }
    }
    const quietMs = isFollower ? followerWaitMs : consumerWaitMs;
    const isPatient = isFollower || request.maxWaitMs >= patientMs;
    const waitMs = isPatient ? Math.max(request.maxWaitMs, quietMs) : request.maxWaitMs;
    const isNews = await new Promise<boolean>((resolve) => {
      const end = (isTold: boolean): void => {
        for (const { readers } of watched) readers.delete(told);
        resolve(isTold);
      };
      const timer = time.pollAfter(waitMs, () => {
        end(false);
      });
      const told = (): void => {
        timer.isCancelled = true;
        end(true);
      };
      for (const { readers } of watched) readers.add(told);
    });
    return this.#weathered(isNews ? this.#fetchNow(nodeId, request) : first);
  }

  listOffsets(nodeId: number, { topic, partitions, timeMs }: ListOffsetsRequest): ListedOffset[] {
    return partitions.map((partition) => {
      const log = this.#seenBy(nodeId, this.topics.get(topic)?.partitions[partition]);
      if (this.withheld.has(topic))
        return { partition, error: 'TOPIC_AUTHORIZATION_FAILED', offset: -1 };
      if (log === undefined) return { partition, error: 'UNKNOWN_TOPIC_OR_PARTITION', offset: -1 };
      if (log.leader !== nodeId)
        return { partition, error: 'NOT_LEADER_FOR_PARTITION', offset: -1 };
      return { partition, error: 'NONE', offset: timeMs === earliestTime ? 0 : log.lastStable };
    });
  }

  epochEnd(nodeId: number, request: EpochEndRequest): EpochEndAnswer {
    const { topic, partition, leaderEpoch, epoch } = request;
    const log = this.#seenBy(nodeId, this.topics.get(topic)?.partitions[partition]);
    if (this.withheld.has(topic))
      return { error: 'TOPIC_AUTHORIZATION_FAILED', epoch: -1, endOffset: -1 };
    if (log === undefined) return { error: 'UNKNOWN_TOPIC_OR_PARTITION', epoch: -1, endOffset: -1 };
    if (log.leader !== nodeId)
      return { error: 'NOT_LEADER_FOR_PARTITION', epoch: -1, endOffset: -1 };
    if (leaderEpoch >= 0 && leaderEpoch !== log.leaderEpoch) {
      const error = leaderEpoch < log.leaderEpoch ? 'FENCED_LEADER_EPOCH' : 'UNKNOWN_LEADER_EPOCH';
      return { error, epoch: -1, endOffset: -1 };
    }
    return { error: 'NONE', ...log.epochEnd(epoch) };
  }

  /** Leaders of a topic's partitions, as the node knows them. */
  describe(nodeId: number, { partitions }: SimulatedTopic): PartitionMetadata[] {
    return partitions.map((partition) => {
      const { leader, leaderEpoch: epoch, inSync } = this.#seenBy(nodeId, partition);
      return { leader, epoch, inSync: [...inSync] };
    });
  }

  /** As the node knows it. */
  coordinatorOf(nodeId: number, groupId: string): number {
    const group = this.group(groupId);
    const known = this.#isolated.get(nodeId)?.coordinatorOf(group);
    if (known !== undefined) return known;
    if (this.#answers(group.coordinator)) return group.coordinator;
    throw new KafkaAnswerError('COORDINATOR_NOT_AVAILABLE', groupId);
  }

  async askGroup(
    nodeId: number,
    api: string,
    request: GroupRequest,
    timeoutMs: number,
  ): Promise<object> {
    const group = this.group(request.groupIds?.[0] ?? request.groupId);
    const isolated = (): ReturnType<IsolatedBroker['coordinator']> =>
      this.#isolated.get(nodeId)?.coordinator(group);
    const answer = isolated() === undefined ? await group.answer(nodeId, api, request) : undefined;
    // What it was to wait for has gone on without it meanwhile.
    const isolatedAnswer = await isolated()?.answer(api, request, timeoutMs);
    const told = isolatedAnswer ?? answer;
    if (told === undefined)
      throw new KafkaAnswerError('REQUEST_TIMED_OUT', `node ${nodeId} did not answer ${api}`);
    return told;
  }

  #seenBy<P extends SimulatedPartition | undefined>(nodeId: number, partition: P): P {
    const isolated = partition === undefined ? undefined : this.#isolated.get(nodeId);
    return isolated === undefined
      ? partition
      : (isolated.partition(partition as SimulatedPartition) as P);
  }

  #fetchNow(nodeId: number, { rack, maxBytes, topics }: FetchRequest): FetchAnswer {
    let leftBytes = maxBytes;
    const partitions = topics.flatMap(({ id, partitions: positions }) =>
      positions.map((position): FetchedPartition => {
        const log = this.#seenBy(nodeId, this.#byId.get(id)?.partitions[position.partition]);
        if (log !== undefined && this.withheld.has(log.topic))
          return refusedPartition(id, position.partition, 'TOPIC_AUTHORIZATION_FAILED');
        if (log === undefined) return refusedPartition(id, position.partition, 'UNKNOWN_TOPIC_ID');
        if (!log.replicas.includes(nodeId) || log.leader < 0)
          return refusedPartition(id, position.partition, 'NOT_LEADER_FOR_PARTITION');
        const answer = log.fetch(position, leftBytes, leftBytes === maxBytes, nodeId);
        if (rack !== '' && log.leader === nodeId && answer.error === 'NONE') {
          const replica = log.replicaFor((id) => rackOf(id) === rack, position.offset);
          if (replica >= 0) return sentElsewhere(answer, replica);
        }
        leftBytes -= answer.records.length;
        if (answer.records.length > 0) this.#unread.delete(log);
        return answer;
      }),
    );
    return { error: 'NONE', throttleMs: 0, partitions };
  }

  #weathered(answer: FetchAnswer): FetchAnswer {
    if (!this.chance(this.weather.damagedFetches)) return answer;
    const damaged = damagedAnswer(answer, this.time.random);
    if (damaged !== answer) this.time.liveThrough(unreadableMs);
    return damaged;
  }

  /** The controller has missed a broker. */
  #replace(nodeId: number): void {
    this.time.happened();
    for (const partition of this.#partitions()) {
      if (partition.leader === nodeId) partition.elect(this.isUp);
      partition.dropReplica(nodeId);
      this.#replicateSoon(partition);
    }
    for (const group of this.groups.values())
      if (group.coordinator === nodeId) {
        const up = [...this.nodes.keys()].find((id) => this.isUp(id));
        if (up !== undefined) group.moveTo(up);
      }
  }

  #welcome(nodeId: number): void {
    this.time.happened();
    for (const partition of this.#partitions()) {
      if (partition.leader < 0 || !this.isUp(partition.leader)) partition.elect(this.isUp);
      partition.addReplica(nodeId);
      partition.replicate(this.isUp);
      this.#replicateSoon(partition);
    }
    for (const group of this.groups.values())
      if (!this.isUp(group.coordinator)) group.moveTo(nodeId);
  }

  *#partitions(): Generator<SimulatedPartition> {
    for (const { partitions } of this.topics.values()) yield* partitions;
  }
}

function refused(error: KafkaErrorName): { error: KafkaErrorName; baseOffset: number } {
  return { error, baseOffset: -1 };
}
