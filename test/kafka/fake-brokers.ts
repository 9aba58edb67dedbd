import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  ClusterClient,
  ListedOffset,
  ListOffsetsRequest,
} from '../../src/kafka/cluster/cluster.ts';
import { earliestTime } from '../../src/kafka/cluster/cluster.ts';
import type { KafkaErrorName } from '../../src/kafka/protocol/errors.ts';
import type { EpochEndRequest } from '../../src/kafka/protocol/epoch-end.ts';
import type { EpochEnd, FetchAnswer, FetchRequest } from '../../src/kafka/protocol/fetch.ts';
import { askGroup, type AskedGroup, type GroupRequest } from './ask-group.ts';
import { FakeCluster } from './fake-cluster.ts';
import { FakeGroup } from './fake-group.ts';
import { FakeLog } from './fake-log.ts';

export interface FakeTopic {
  readonly id: string;
  readonly partitions: FakeLog[];
}

type NodeState = 'up' | 'hangs' | 'down';

export interface Asked {
  /** As kafkajs calls it, and `Fetch`, `Metadata`, `OffsetForLeaderEpoch`. */
  readonly api: string;
  /** -1: whichever. */
  readonly nodeId: number;
  readonly request: object;
}

/** Kafka in memory, as far as readers meet it. Tests say what goes wrong. */
export class FakeBrokers implements ClusterClient {
  /** Of the clients that it opens clusters for. */
  rack = '';
  readonly topics: Map<string, FakeTopic> = new Map<string, FakeTopic>();
  readonly groups: Map<string, FakeGroup> = new Map<string, FakeGroup>();
  readonly nodes: Map<number, NodeState> = new Map<number, NodeState>();
  /** In place of what is known of a topic. */
  readonly topicErrors: Map<string, KafkaErrorName> = new Map<string, KafkaErrorName>();
  readonly asked: Asked[] = [];
  /** Of what travels with a committed offset; Kafka's default. */
  mostMetadataBytes = 4_096;
  /** When a client gives a broker up that hangs. */
  answerMs = 200;
  /** What happens before a broker works on a request. If it throws, the request was lost. */
  before: (asked: Asked) => unknown = () => undefined;
  /** What happens once it has. If it throws, the answer was lost. */
  after: (asked: Asked) => unknown = () => undefined;
  /** Of records. */
  fetchedBytes = 0;
  #topicsMade = 0;
  #change = Promise.withResolvers<undefined>();

  constructor(nodes: number = 3) {
    for (let nodeId = 1; nodeId <= nodes; nodeId += 1) this.nodes.set(nodeId, 'up');
  }

  openCluster(): FakeCluster {
    return new FakeCluster(this);
  }

  /** Deals leaders out to the partitions in turn. A topic of that name is gone, with what is committed of it. */
  makeTopic(name: string, partitions: number): FakeLog[] {
    this.deleteTopic(name);
    this.#topicsMade += 1;
    const changed = (): void => {
      this.changed();
    };
    const logs = Array.from(
      { length: partitions },
      (_, i) => new FakeLog((i % this.nodes.size) + 1, changed),
    );
    this.topics.set(name, {
      id: String(this.#topicsMade).padStart(32, '0'),
      partitions: logs,
    });
    return logs;
  }

  addPartitions(name: string, count: number): void {
    const logs = this.topics.get(name)?.partitions ?? [];
    while (logs.length < count)
      logs.push(
        new FakeLog((logs.length % this.nodes.size) + 1, () => {
          this.changed();
        }),
      );
  }

  deleteTopic(name: string): void {
    this.topics.delete(name);
    for (const { commits } of this.groups.values())
      for (const place of [...commits.keys()])
        if (place.startsWith(`${name}/`)) commits.delete(place);
    this.changed();
  }

  log(topic: string, partition: number): FakeLog {
    const log = this.topics.get(topic)?.partitions[partition];
    if (log === undefined) throw new RangeError(`no ${topic}/${partition}`);
    return log;
  }

  group(id: string): FakeGroup {
    const known = this.groups.get(id) ?? new FakeGroup(1);
    this.groups.set(id, known);
    return known;
  }

  /** How often a broker was asked for it. */
  count(api: string): number {
    return this.asked.filter((each) => each.api === api).length;
  }

  /** Whoever waits for something new looks again. */
  changed(): void {
    this.#change.resolve(undefined);
    this.#change = Promise.withResolvers<undefined>();
  }

  // What a node answers

  async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    const untilMs = performance.now() + request.maxWaitMs;
    for (;;) {
      const answer = this.#fetchNow(nodeId, request);
      const isEmpty = answer.partitions.every(
        ({ error, records, diverging, preferredReplica }) =>
          error === 'NONE' &&
          records.length === 0 &&
          diverging === undefined &&
          preferredReplica < 0,
      );
      const leftMs = untilMs - performance.now();
      if (!isEmpty || leftMs <= 0) return answer;
      await Promise.race([this.#change.promise, timeUp(leftMs)]);
    }
  }

  listOffsets(nodeId: number, { topic, partitions, timeMs }: ListOffsetsRequest): ListedOffset[] {
    return partitions.map((partition) => {
      const log = this.topics.get(topic)?.partitions[partition];
      const error = log?.listError ?? this.#judgeLeader(log, nodeId);
      const offset = (timeMs === earliestTime ? log?.start : log?.end) ?? -1;
      return { partition, error, offset: error === 'NONE' ? offset : -1 };
    });
  }

  epochEnd(
    nodeId: number,
    { topic, partition, epoch }: EpochEndRequest,
  ): EpochEnd & { error: KafkaErrorName } {
    const log = this.topics.get(topic)?.partitions[partition];
    const error = this.#judgeLeader(log, nodeId);
    const none = { epoch: -1, endOffset: -1 };
    return { error, ...(error === 'NONE' && log !== undefined ? log.epochEnd(epoch) : none) };
  }

  async coordinate(nodeId: number, api: string, request: GroupRequest): Promise<object> {
    const group = this.group(request.groupIds?.[0] ?? request.groupId);
    const asked: AskedGroup = {
      group,
      isMisplaced: group.coordinator !== nodeId,
      commitError: (topic, partition, metadata) => {
        const log = this.topics.get(topic)?.partitions[partition];
        if (log?.commitError !== undefined) return log.commitError;
        if (metadata.length > this.mostMetadataBytes) return 'OFFSET_METADATA_TOO_LARGE';
        return log === undefined ? 'UNKNOWN_TOPIC_OR_PARTITION' : undefined;
      },
    };
    return askGroup(asked, api, request);
  }

  #fetchNow(nodeId: number, { maxBytes, topics, rack }: FetchRequest): FetchAnswer {
    let leftBytes = maxBytes;
    const partitions = topics.flatMap(({ id, partitions: positions }) =>
      positions.map((position) => {
        const [name, topic] =
          [...this.topics].find(([, each]) => each.id === id && id !== '') ?? [];
        const log = topic?.partitions[position.partition];
        const place = { topicId: id, partition: position.partition };
        if (name === undefined || log === undefined)
          return { ...place, ...emptyAnswer, error: 'UNKNOWN_TOPIC_ID' as const };
        const isReplica = log.replica === nodeId;
        if (log.leader !== nodeId && !isReplica)
          return { ...place, ...emptyAnswer, error: 'NOT_LEADER_FOR_PARTITION' as const };
        if (rack !== '' && log.replica !== undefined && !isReplica)
          return { ...place, ...emptyAnswer, preferredReplica: log.replica };
        const answer = log.fetch(position, leftBytes, leftBytes === maxBytes);
        leftBytes -= answer.records.length;
        return { ...place, ...(isReplica ? log.replicaAnswers(answer) : answer) };
      }),
    );
    return { error: 'NONE', throttleMs: 0, partitions };
  }

  #judgeLeader(log: FakeLog | undefined, nodeId: number): KafkaErrorName {
    if (log === undefined) return 'UNKNOWN_TOPIC_OR_PARTITION';
    return log.leader === nodeId ? 'NONE' : 'NOT_LEADER_FOR_PARTITION';
  }
}

const emptyAnswer = {
  error: 'NONE' as const,
  highWatermark: -1,
  lastStableOffset: -1,
  aborted: [],
  preferredReplica: -1,
  diverging: undefined,
  records: Buffer.alloc(0),
};

async function timeUp(ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, ms).unref();
  });
  await nextTurn();
}
