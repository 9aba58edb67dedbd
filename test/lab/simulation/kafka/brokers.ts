import type { FetchAnswer, FetchRequest } from '../../../../src/kafka/protocol/fetch.ts';
import type { ProducedPartition, ProduceRequest } from '../../../../src/kafka/protocol/produce.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../../../src/kafka/protocol/errors.ts';
import type { GroupRequest } from '../../../harness/kafka/ask-group.ts';
import {
  MemoryBrokers,
  refusedBatch,
  type MemoryTopic,
  type Written,
} from '../../../harness/kafka/brokers.ts';
import type { Appended } from '../../../harness/kafka/log.ts';
import type { VirtualTime } from '../virtual-time.ts';
import { SimulatedGroup } from './group.ts';
import { IsolatedBroker } from './isolated.ts';
import { SimulatedPartition } from './partition.ts';
import { Racks } from './racks.ts';
import { SimulatedTransactions } from './transactions.ts';
import { damagedAnswer, fairWeather, oddAnswers, type Weather } from './weather.ts';

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

/** Brokers of a cluster whose network, machines and rights go wrong as a scenario says. */
export class SimulatedBrokers extends MemoryBrokers<SimulatedPartition, SimulatedGroup> {
  override readonly time: VirtualTime;
  readonly nodes: Map<number, NodeState>;
  readonly #isolated = new Map<number, IsolatedBroker>();
  /** Partitions whose news nobody has read, and until when that is waited for. */
  readonly #unread = new Map<SimulatedPartition, number>();
  readonly racks: Racks;
  weather: Weather = fairWeather;
  /** Topics whose records are no event: they are written from time to time in any case. */
  readonly chatter: Set<string> = new Set();
  /** Nobody has a right to these any more, but to write to them. */
  readonly withheld: Set<string> = new Set();
  /** Nobody has a right to write to these any more. */
  readonly unwritable: Set<string> = new Set();
  /** What has been written where; before anybody has it but the leader. */
  onAppend: (topic: string, partition: number) => void = () => undefined;
  readonly transactions: SimulatedTransactions = new SimulatedTransactions(this);

  constructor(time: VirtualTime, nodes: number, hasRacks: boolean) {
    super(time, nodes);
    this.time = time;
    this.racks = new Racks(nodes, hasRacks);
    this.nodes = new Map(this.nodeIds.map((nodeId) => [nodeId, 'up']));
  }

  protected override makeLog(topic: MemoryTopic, index: number): SimulatedPartition {
    const from = (index + this.topics.size - 1) % this.nodeIds.length;
    const turned = [...this.nodeIds.slice(from), ...this.nodeIds.slice(0, from)];
    return new SimulatedPartition(topic, index, turned.slice(0, replicas));
  }

  protected override makeGroup(): SimulatedGroup {
    const nodeId = this.nodeIds[this.groups.size % this.nodeIds.length] ?? 1;
    return new SimulatedGroup(this.time, nodeId);
  }

  override readonly isUp = (nodeId: number): boolean => this.nodes.get(nodeId) === 'up';

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

  override async produce(
    nodeId: number,
    request: ProduceRequest,
  ): Promise<readonly ProducedPartition[]> {
    const answers = await super.produce(nodeId, request);
    const isOdd = this.chance(this.weather.oddAnswers);
    return isOdd ? oddAnswers(answers, this.time.random) : answers;
  }

  /** To the leader's log; the others soon have it too. */
  append(partition: SimulatedPartition, batch: Buffer): Appended {
    const { time } = this;
    const { topic, index, end } = partition;
    const appended = partition.appendBatch(batch, time.nowMs);
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

  protected override async write(
    partition: SimulatedPartition,
    batch: Buffer,
    timeoutMs: number,
  ): Promise<Written> {
    if (this.unwritable.has(partition.topic)) return refusedBatch('TOPIC_AUTHORIZATION_FAILED');
    if (partition.inSync.size < minInSync) return refusedBatch('NOT_ENOUGH_REPLICAS');
    const { time } = this;
    const appended = this.append(partition, batch);
    if (appended.error !== 'NONE') return appended;
    const error = await new Promise<KafkaErrorName>((resolve) => {
      const end = partition.end;
      const timer = time.after(timeoutMs, () => {
        resolve('REQUEST_TIMED_OUT');
      });
      partition.whenReplicated(end, (settled) => {
        timer[Symbol.dispose]();
        resolve(settled);
      });
    });
    return error === 'NONE' ? appended : refusedBatch(error);
  }

  override async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    const answer = await super.fetch(nodeId, request);
    if (!this.chance(this.weather.damagedFetches)) return answer;
    const damaged = damagedAnswer(answer, this.time.random);
    if (damaged !== answer) this.time.liveThrough(unreadableMs);
    return damaged;
  }

  protected override waitMs({ maxWaitMs, topics }: FetchRequest): number {
    const isFollower = topics.some(({ id }) => {
      const policy = this.topicWith(id)?.config['cleanup.policy'];
      return policy?.includes('compact') === true;
    });
    const quietMs = isFollower ? followerWaitMs : consumerWaitMs;
    return isFollower || maxWaitMs >= patientMs ? Math.max(maxWaitMs, quietMs) : maxWaitMs;
  }

  protected override onRead(partition: SimulatedPartition): void {
    this.#unread.delete(partition);
  }

  protected override refusal(topic: string): KafkaErrorName | undefined {
    return this.withheld.has(topic) ? 'TOPIC_AUTHORIZATION_FAILED' : undefined;
  }

  /** As the node knows it. */
  override coordinatorOf(nodeId: number, groupId: string): number {
    const group = this.group(groupId);
    const known = this.#isolated.get(nodeId)?.coordinatorOf(group);
    if (known !== undefined) return known;
    if (this.#answers(group.coordinator)) return group.coordinator;
    throw new KafkaAnswerError('COORDINATOR_NOT_AVAILABLE', groupId);
  }

  override async coordinate(
    nodeId: number,
    api: string,
    request: GroupRequest,
    timeoutMs: number,
  ): Promise<object> {
    const group = this.group(request.groupId);
    const isolated = (): ReturnType<IsolatedBroker['coordinator']> =>
      this.#isolated.get(nodeId)?.coordinator(group);
    let answer: object | undefined;
    if (isolated() === undefined) {
      if (group.coordinator === nodeId) group.hears(api, request);
      answer = await this.answerAsCoordinator(nodeId, api, request);
      if (api === 'JoinGroup') group.sees((answer as { readonly memberId?: string }).memberId);
    }
    // What it was to wait for has gone on without it meanwhile.
    const isolatedAnswer = await isolated()?.answer(api, request, timeoutMs);
    const told = isolatedAnswer ?? answer;
    if (told === undefined)
      throw new KafkaAnswerError('REQUEST_TIMED_OUT', `node ${nodeId} did not answer ${api}`);
    return told;
  }

  protected override seenBy(
    nodeId: number,
    partition: SimulatedPartition | undefined,
  ): SimulatedPartition | undefined {
    const isolated = partition === undefined ? undefined : this.#isolated.get(nodeId);
    return isolated === undefined || partition === undefined
      ? partition
      : isolated.partition(partition);
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
        const up = this.nodeIds.find((id) => this.isUp(id));
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
