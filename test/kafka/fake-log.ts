import type { FetchedPartition } from '../../src/kafka/protocol/fetch.ts';
import type { KafkaErrorName } from '../../src/kafka/protocol/errors.ts';
import { refusedPartition } from '../harness/kafka/fetched-partitions.ts';
import { MemoryLog, type Copy } from '../harness/kafka/log.ts';

export type PartitionAnswer = FetchedPartition;

interface Named {
  readonly name: string;
  readonly id: string;
}

/** A partition in memory of which a test says what goes wrong. */
export class FakeLog extends MemoryLog {
  /** A transaction is open from here on; readers of committed records see nothing behind it. */
  openFrom: number | undefined;
  /** The node that the leader sends readers in its zone to. */
  replica: number | undefined;
  /** What that node makes of what it has. */
  replicaAnswers: (answer: PartitionAnswer) => PartitionAnswer = (answer) => answer;
  /** What is answered to every fetch of this partition. */
  fetchError: KafkaErrorName | undefined;
  listError: KafkaErrorName | undefined;
  commitError: KafkaErrorName | undefined;

  constructor(leader: number, topic: Named = { name: 'topic', id: '' }, index: number = 0) {
    super(topic, index, leader);
  }

  override isOn(nodeId: number): boolean {
    return super.isOn(nodeId) || nodeId === this.replica;
  }

  /** As a leader does, it names nobody who is known not to be in sync. */
  override replicaNear(_rack: string, nodeId: number): number {
    const { replica = -1, inSync = [replica] } = this;
    return nodeId !== replica && [...inSync].includes(replica) ? replica : -1;
  }

  override fetch(...asked: Parameters<MemoryLog['fetch']>): FetchedPartition {
    const [, , , nodeId] = asked;
    if (this.fetchError !== undefined)
      return refusedPartition(this.topicId, this.index, this.fetchError);
    const answer = super.fetch(...asked);
    return nodeId === this.replica ? this.replicaAnswers(answer) : answer;
  }

  /** Whoever leads has all of it. */
  protected override copyOn(): Copy {
    return this;
  }

  protected override lastStableOf(highWatermark: number): number {
    return this.openFrom ?? super.lastStableOf(highWatermark);
  }
}
