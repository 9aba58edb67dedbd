import type {
  ClusterClient,
  ListedOffset,
  ListOffsetsRequest,
} from '../../src/kafka/cluster/cluster.ts';
import type { KafkaErrorName } from '../../src/kafka/protocol/errors.ts';
import { noTopicId, type DescribedTopic } from '../../src/kafka/protocol/metadata.ts';
import type { GroupRequest } from '../harness/kafka/ask-group.ts';
import { MemoryBrokers, type MemoryTopic, type Written } from '../harness/kafka/brokers.ts';
import type { Asked } from '../harness/kafka/cluster.ts';
import { MemoryGroup } from '../harness/kafka/group.ts';
import { realTime } from '../harness/kafka/time.ts';
import { FakeCluster } from './fake-cluster.ts';
import { FakeLog } from './fake-log.ts';

export type { Asked } from '../harness/kafka/cluster.ts';

type NodeState = 'up' | 'hangs' | 'down';

/** Kafka in memory, of which a test says what goes wrong. */
export class FakeBrokers extends MemoryBrokers<FakeLog> implements ClusterClient {
  /** Of the clients that it opens clusters for. */
  rack = '';
  readonly nodes: Map<number, NodeState>;
  /** In place of what is known of a topic. */
  readonly topicErrors: Map<string, KafkaErrorName> = new Map<string, KafkaErrorName>();
  readonly asked: Asked[] = [];
  /** When a client gives a broker up that hangs. */
  answerMs = 200;
  /** What happens before a broker works on a request. If it throws, the request was lost. */
  before: (asked: Asked) => unknown = () => undefined;
  /** What happens once it has. If it throws, the answer was lost. */
  after: (asked: Asked) => unknown = () => undefined;
  /** Of records. */
  fetchedBytes = 0;

  constructor(nodes: number = 3) {
    super(realTime, nodes);
    this.nodes = new Map(this.nodeIds.map((nodeId) => [nodeId, 'up']));
  }

  override readonly isUp = (nodeId: number): boolean => this.nodes.get(nodeId) === 'up';

  openCluster(): FakeCluster {
    return new FakeCluster(this);
  }

  log(topic: string, partition: number): FakeLog {
    const log = this.topics.get(topic)?.partitions[partition];
    if (log === undefined) throw new RangeError(`no ${topic}/${partition}`);
    return log;
  }

  /** How often a broker was asked for it. */
  count(api: string): number {
    return this.asked.filter((each) => each.api === api).length;
  }

  /** Whoever waits for something new looks again. */
  changed(): void {
    for (const { partitions } of this.topics.values())
      for (const log of partitions) log.tellReaders();
  }

  override describe(nodeId: number, name: string): DescribedTopic {
    const error = this.topicErrors.get(name);
    if (error !== undefined) return { name, error, id: noTopicId, partitions: [] };
    const described = super.describe(nodeId, name);
    const partitions = described.partitions.map((each) =>
      this.nodes.get(each.leader) === 'down' ? { ...each, leader: -1 } : each,
    );
    return { ...described, partitions };
  }

  override listOffsets(nodeId: number, request: ListOffsetsRequest): ListedOffset[] {
    return super.listOffsets(nodeId, request).map((listed) => {
      const log = this.topics.get(request.topic)?.partitions[listed.partition];
      return log?.listError === undefined
        ? listed
        : { ...listed, error: log.listError, offset: -1 };
    });
  }

  override async coordinate(nodeId: number, api: string, request: GroupRequest): Promise<object> {
    return this.answerAsCoordinator(nodeId, api, request);
  }

  /** Deals leaders out to the partitions in turn. */
  protected override makeLog(topic: MemoryTopic, index: number): FakeLog {
    return new FakeLog((index % this.nodeIds.length) + 1, topic, index);
  }

  protected override makeGroup(): MemoryGroup {
    return new MemoryGroup(1);
  }

  protected override write(log: FakeLog, batch: Buffer): Written {
    return log.appendBatch(batch, this.appendTimeOf(log));
  }

  protected override refusal(): undefined {
    return undefined;
  }

  protected override onRead(): void {
    // The cluster counts what arrives.
  }

  protected override commitError(
    topic: string,
    partition: number,
    metadata: string,
  ): KafkaErrorName | undefined {
    const log = this.topics.get(topic)?.partitions[partition];
    return log?.commitError ?? super.commitError(topic, partition, metadata);
  }
}
