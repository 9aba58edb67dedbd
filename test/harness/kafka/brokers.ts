import {
  earliestTime,
  latestTime,
  type ListedOffset,
  type ListOffsetsRequest,
} from '../../../src/kafka/cluster/cluster.ts';
import type {
  EpochEndAnswer,
  EpochEndRequest,
  FetchAnswer,
  FetchedPartition,
  FetchPosition,
  FetchRequest,
} from '../../../src/kafka/protocol/fetch.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type {
  ProducedPartition,
  ProduceRequest,
  ProducerIdentity,
} from '../../../src/kafka/protocol/produce.ts';
import { noTopicId, type DescribedTopic } from '../../../src/kafka/protocol/metadata.ts';
import { askGroup, type GroupRequest } from './ask-group.ts';
import { isEmpty, refusedPartition, sentElsewhere } from './fetched-partitions.ts';
import type { MemoryGroup } from './group.ts';
import type { Appended, MemoryLog } from './log.ts';
import type { KafkaTime } from './time.ts';

export interface MemoryTopic<Log extends MemoryLog = MemoryLog> {
  readonly name: string;
  readonly id: string;
  readonly config: Readonly<Record<string, string>>;
  partitions: Log[];
}

/** How a batch was received. `message`: why it was refused, for people. */
export type Written = Appended & { readonly message?: string };

/**
 * Kafka in memory, request by request: what each node answers. Connections, and what goes wrong on the way, are the
 * matter of a `MemoryCluster`. `contract.ts` says what holds of it and of real brokers alike.
 */
export abstract class MemoryBrokers<
  Log extends MemoryLog = MemoryLog,
  Group extends MemoryGroup = MemoryGroup,
> {
  readonly time: KafkaTime;
  readonly nodeIds: readonly number[];
  readonly topics: Map<string, MemoryTopic<Log>> = new Map();
  readonly groups: Map<string, Group> = new Map();
  /** The longest text that may be kept with a committed offset; Kafka's default. */
  mostMetadataBytes = 4_096;
  readonly #byId = new Map<string, MemoryTopic<Log>>();
  #topicsMade = 0;
  #producerIds = 1_000;

  constructor(time: KafkaTime, nodes: number) {
    this.time = time;
    this.nodeIds = Array.from({ length: nodes }, (_, index) => index + 1);
  }

  abstract readonly isUp: (nodeId: number) => boolean;
  protected abstract makeLog(topic: Omit<MemoryTopic, 'partitions'>, index: number): Log;
  protected abstract makeGroup(): Group;
  /** Takes a batch for a partition that the node leads. */
  protected abstract write(log: Log, batch: Buffer, timeoutMs: number): Written | Promise<Written>;
  /** Why nobody is told of a topic, or may read it. */
  protected abstract refusal(topic: string): KafkaErrorName | undefined;
  /** A coordinator's answer, in the shapes in which kafkajs decodes it. */
  abstract coordinate(
    nodeId: number,
    api: string,
    request: GroupRequest,
    timeoutMs: number,
  ): Promise<object>;
  /** Somebody has been sent records of it. */
  protected abstract onRead(log: Log): void;

  /** A topic of that name is gone, with what is committed of it. */
  makeTopic(
    name: string,
    partitions: number,
    config: Readonly<Record<string, string>> = {},
  ): Log[] {
    this.deleteTopic(name);
    this.#topicsMade += 1;
    const id = String(this.#topicsMade).padStart(32, '0');
    const topic: MemoryTopic<Log> = { name, id, config, partitions: [] };
    this.topics.set(name, topic);
    this.#byId.set(id, topic);
    this.addPartitions(name, partitions);
    return topic.partitions;
  }

  addPartitions(name: string, count: number): void {
    const topic = this.topics.get(name);
    if (topic === undefined) throw new RangeError(`no ${name}`);
    const { partitions } = topic;
    while (partitions.length < count) partitions.push(this.makeLog(topic, partitions.length));
  }

  deleteTopic(name: string): void {
    const topic = this.topics.get(name);
    if (topic === undefined) return;
    this.topics.delete(name);
    this.#byId.delete(topic.id);
    for (const { commits } of this.groups.values())
      for (const place of [...commits.keys()])
        if (place.startsWith(`${name}/`)) commits.delete(place);
    for (const log of topic.partitions) log.tellReaders();
  }

  topicWith(id: string): MemoryTopic<Log> | undefined {
    return this.#byId.get(id);
  }

  group(id: string): Group {
    const known = this.groups.get(id) ?? this.makeGroup();
    this.groups.set(id, known);
    return known;
  }

  // What a node answers

  describe(nodeId: number, name: string): DescribedTopic {
    const topic = this.topics.get(name);
    const error = this.refusal(name) ?? (topic === undefined ? unknown : 'NONE');
    if (topic === undefined || error !== 'NONE')
      return { name, error, id: noTopicId, partitions: [] };
    const partitions = topic.partitions.map((each) => {
      const { leader, epoch, inSync = [leader] } = this.seenBy(nodeId, each) ?? each;
      return { leader, epoch, inSync: [...inSync] };
    });
    return { name, error, id: topic.id, partitions };
  }

  initProducerId(): ProducerIdentity {
    this.#producerIds += 1;
    return { id: this.#producerIds, epoch: 0 };
  }

  async produce(
    nodeId: number,
    { topics, timeoutMs }: ProduceRequest,
  ): Promise<readonly ProducedPartition[]> {
    const answers = topics.flatMap(({ topic, partitions }) =>
      partitions.map(async ({ partition, batch }): Promise<ProducedPartition> => {
        const log = this.seenBy(nodeId, this.topics.get(topic)?.partitions[partition]);
        const error = judgeLeader(nodeId, log);
        const isRefused = log === undefined || error !== 'NONE';
        const {
          message = null,
          appendedMs,
          ...written
        } = isRefused ? refusedBatch(error) : await this.write(log, batch, timeoutMs);
        return { topic, partition, message, appendedMs, ...written };
      }),
    );
    return Promise.all(answers);
  }

  async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    let answer = this.#fetchNow(nodeId, request);
    if (request.maxWaitMs === 0 || !isEmpty(answer)) return answer;
    const watched = request.topics.flatMap(({ id, partitions }) =>
      partitions.flatMap(({ partition }) => {
        const log = this.seenBy(nodeId, this.#byId.get(id)?.partitions[partition]);
        return log ?? [];
      }),
    );
    const wait: { isOver: boolean; wake: () => void } = { isOver: false, wake: () => undefined };
    const tell = (): void => {
      wait.wake();
    };
    const timer = this.time.pollAfter(this.waitMs(request), () => {
      wait.isOver = true;
      wait.wake();
    });
    for (const { readers } of watched) readers.add(tell);
    while (!wait.isOver && isEmpty(answer)) {
      await new Promise<void>((resolve) => {
        wait.wake = resolve;
      });
      answer = this.#fetchNow(nodeId, request);
    }
    timer[Symbol.dispose]();
    for (const { readers } of watched) readers.delete(tell);
    return answer;
  }

  listOffsets(nodeId: number, { topic, partitions, timeMs }: ListOffsetsRequest): ListedOffset[] {
    return partitions.map((partition) => {
      const log = this.seenBy(nodeId, this.topics.get(topic)?.partitions[partition]);
      const error = this.refusal(topic) ?? judgeLeader(nodeId, log);
      if (log === undefined || error !== 'NONE') return { partition, error, offset: -1 };
      if (timeMs === earliestTime) return { partition, error, offset: log.start };
      const offset = timeMs === latestTime ? log.highWatermark : log.offsetAt(timeMs);
      return { partition, error, offset };
    });
  }

  epochEnd(nodeId: number, request: EpochEndRequest): EpochEndAnswer {
    const { topic, partition, leaderEpoch, epoch } = request;
    const log = this.seenBy(nodeId, this.topics.get(topic)?.partitions[partition]);
    const error = this.refusal(topic) ?? judgeLeader(nodeId, log);
    const refused = (why: KafkaErrorName): EpochEndAnswer => ({
      error: why,
      epoch: -1,
      endOffset: -1,
    });
    if (log === undefined || error !== 'NONE') return refused(error);
    if (leaderEpoch >= 0 && leaderEpoch < log.epoch) return refused('FENCED_LEADER_EPOCH');
    if (leaderEpoch > log.epoch) return refused('UNKNOWN_LEADER_EPOCH');
    return { error, ...log.epochEnd(epoch) };
  }

  coordinatorOf(_nodeId: number, groupId: string): number {
    const { coordinator, findError } = this.group(groupId);
    if (findError !== undefined) throw new KafkaAnswerError(findError, `group ${groupId}`);
    if (this.isUp(coordinator)) return coordinator;
    throw new KafkaAnswerError('COORDINATOR_NOT_AVAILABLE', groupId);
  }

  protected async answerAsCoordinator(
    nodeId: number,
    api: string,
    request: GroupRequest,
  ): Promise<object> {
    const group = this.group(request.groupId);
    const asked = {
      group,
      isMisplaced: group.coordinator !== nodeId,
      commitError: (topic: string, partition: number, metadata: string) =>
        this.commitError(topic, partition, metadata),
      committedError: (topic: string) => this.refusal(topic),
    };
    return askGroup(asked, api, request);
  }

  /** A partition as the node knows it. */
  protected seenBy(_nodeId: number, log: Log | undefined): Log | undefined {
    return log;
  }

  /** What the brokers stamp records with; undefined: these keep their producer's time. */
  protected appendTimeOf({ topic }: Log): number | undefined {
    const type = this.topics.get(topic)?.config['message.timestamp.type'];
    return type === 'LogAppendTime' ? this.time.nowMs : undefined;
  }

  /** How long a fetch waits that finds nothing. */
  protected waitMs({ maxWaitMs }: FetchRequest): number {
    return maxWaitMs;
  }

  protected commitError(
    topic: string,
    partition: number,
    metadata: string,
  ): KafkaErrorName | undefined {
    if (metadata.length > this.mostMetadataBytes) return 'OFFSET_METADATA_TOO_LARGE';
    const log = this.topics.get(topic)?.partitions[partition];
    return this.refusal(topic) ?? (log === undefined ? unknown : undefined);
  }

  #fetchNow(nodeId: number, { maxBytes, topics, rack }: FetchRequest): FetchAnswer {
    let leftBytes = maxBytes;
    const partitions = topics.flatMap(({ id, partitions: positions }) =>
      positions.map((position) => {
        const answer = this.#read(nodeId, { id, rack, position, leftBytes, maxBytes });
        leftBytes -= answer.records.length;
        return answer;
      }),
    );
    return { error: 'NONE', throttleMs: 0, partitions };
  }

  #read(nodeId: number, wanted: Wanted): FetchedPartition {
    const { id, rack, position, leftBytes, maxBytes } = wanted;
    const { partition, offset } = position;
    const topic = this.#byId.get(id);
    if (topic === undefined) return refusedPartition(id, partition, 'UNKNOWN_TOPIC_ID');
    const refusal = this.refusal(topic.name);
    if (refusal !== undefined) return refusedPartition(id, partition, refusal);
    const log = this.seenBy(nodeId, topic.partitions[partition]);
    if (log === undefined) return refusedPartition(id, partition, unknown);
    if (!log.isOn(nodeId)) return refusedPartition(id, partition, notLeader);
    const answer = log.fetch(position, leftBytes, leftBytes === maxBytes, nodeId);
    const replica = rack === '' ? -1 : log.replicaNear(rack, nodeId, offset);
    if (replica >= 0 && answer.error === 'NONE') return sentElsewhere(answer, replica);
    if (answer.records.length > 0) this.onRead(log);
    return answer;
  }
}

interface Wanted {
  readonly id: string;
  readonly rack: string;
  readonly position: FetchPosition;
  /** Of the answer's size, which is `maxBytes` at most. */
  readonly leftBytes: number;
  readonly maxBytes: number;
}

const unknown = 'UNKNOWN_TOPIC_OR_PARTITION';
const notLeader = 'NOT_LEADER_FOR_PARTITION';

function judgeLeader(nodeId: number, log: MemoryLog | undefined): KafkaErrorName {
  if (log === undefined) return unknown;
  return log.leader === nodeId ? 'NONE' : notLeader;
}

export function refusedBatch(error: KafkaErrorName): Written {
  return { error, baseOffset: -1 };
}
