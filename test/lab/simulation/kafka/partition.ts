import type { KafkaErrorName } from '../../../../src/kafka/protocol/errors.ts';
import { MemoryLog, type Copy } from '../../../harness/kafka/log.ts';
import { PartitionTransactions } from '../../../harness/kafka/partition-transactions.ts';
import { ProducerStates } from '../../../harness/kafka/producer-states.ts';
import { rackOf } from './racks.ts';

interface Waiting {
  readonly upTo: number;
  readonly settle: (error: KafkaErrorName) => void;
}

/**
 * A partition with its replicas: the leader's log in bytes, how far each replica has it, and what readers may
 * see of it. A new leader has what its replica had; the rest of the log, which no producer was told of, is gone.
 * A broker that is isolated has one of its own, which it splits off.
 */
export class SimulatedPartition extends MemoryLog {
  readonly replicas: readonly number[];
  override readonly inSync: Set<number>;
  /** All in-sync replicas have what is before it. */
  #highWatermark = 0;
  #reached = new Map<number, number>();
  /** The high watermark, as each replica learned it with its last fetch. */
  #learned = new Map<number, number>();
  #waiting: Waiting[] = [];

  constructor(
    topic: { readonly name: string; readonly id: string },
    index: number,
    replicas: readonly number[],
  ) {
    super(topic, index, replicas[0] ?? -1);
    this.replicas = replicas;
    this.inSync = new Set(replicas);
  }

  override get highWatermark(): number {
    return this.#highWatermark;
  }

  /** Calls back when all in-sync replicas have everything before this offset, or it is known that they won't. */
  whenReplicated(upTo: number, settle: (error: KafkaErrorName) => void): void {
    if (this.highWatermark >= upTo) settle('NONE');
    else this.#waiting.push({ upTo, settle });
  }

  /** These replicas fetch what the leader has. */
  replicate(isUp: (nodeId: number) => boolean): void {
    if (this.leader < 0 || !isUp(this.leader)) return;
    let isNews = false;
    for (const nodeId of this.inSync)
      if (nodeId === this.leader || isUp(nodeId)) {
        this.#reached.set(nodeId, this.end);
        isNews ||= this.#learned.get(nodeId) !== this.highWatermark;
        this.#learned.set(nodeId, this.highWatermark);
      }
    this.#advance();
    if (isNews) this.tellReaders();
  }

  override isOn(nodeId: number): boolean {
    return this.leader >= 0 && this.replicas.includes(nodeId);
  }

  override replicaNear(rack: string, nodeId: number, offset: number): number {
    const isNear = (id: number): boolean => rackOf(id) === rack;
    if (nodeId !== this.leader || isNear(nodeId)) return -1;
    const near = this.replicas.find((id) => this.inSync.has(id) && isNear(id));
    return near === undefined || (this.#reached.get(near) ?? 0) < offset ? -1 : near;
  }

  /** What a broker has that is cut off from the others. Who waits for it to write goes on waiting for it. */
  split(nodeId: number): SimulatedPartition {
    const topic = { name: this.topic, id: this.topicId };
    const own = new SimulatedPartition(topic, this.index, this.replicas);
    own.inSync.clear();
    for (const id of this.inSync) own.inSync.add(id);
    own.#take(this);
    if (this.leader === nodeId) {
      own.#waiting = this.#waiting;
      this.#waiting = [];
    }
    return own;
  }

  /** The broker that split it off is back. What it has appended holds if nobody was elected in its place. */
  rejoin(nodeId: number, own: SimulatedPartition): void {
    if (this.leader === nodeId) {
      this.#take(own);
      this.#waiting = own.#waiting;
    } else own.#giveUp();
    own.tellReaders();
  }

  /** It has not fetched for too long. */
  dropReplica(nodeId: number): void {
    if (nodeId === this.leader || this.inSync.size === 1) return;
    if (this.inSync.delete(nodeId)) this.#advance();
  }

  /** It has caught up with the leader. */
  addReplica(nodeId: number): void {
    if (this.leader < 0) return;
    this.#reached.set(nodeId, this.end);
    this.#learned.set(nodeId, this.highWatermark);
    this.inSync.add(nodeId);
  }

  /** No replica may lead it, although all are well. */
  loseLeader(): void {
    this.leader = -1;
    this.#giveUp();
    this.tellReaders();
  }

  /** Somebody who is in sync leads from now on, with what it has; nobody, if none of them is up. */
  elect(isUp: (nodeId: number) => boolean): void {
    const former = this.leader;
    const candidates = this.replicas.filter((id) => this.inSync.has(id) && isUp(id));
    const next = candidates.find((id) => id !== former) ?? candidates[0] ?? -1;
    if (next >= 0 && next !== former) {
      const hadBy = former < 0 ? this.end : (this.#reached.get(next) ?? 0);
      this.truncate(Math.max(hadBy, this.highWatermark));
      this.beginEpoch();
    }
    this.leader = next;
    this.#giveUp();
    this.tellReaders();
  }

  /** Readers see nothing of it yet: the replicas have to have it. */
  protected override appended(): void {
    // The high watermark tells them.
  }

  protected override copyOn(nodeId: number): Copy {
    if (nodeId === this.leader) return this;
    const end = Math.min(this.end, this.#reached.get(nodeId) ?? 0);
    return { end, highWatermark: this.#learned.get(nodeId) ?? 0 };
  }

  #take(other: SimulatedPartition): void {
    this.leader = other.leader;
    this.epoch = other.epoch;
    this.batches = [...other.batches];
    this.end = other.end;
    this.#highWatermark = other.#highWatermark;
    this.#reached = new Map(other.#reached);
    this.#learned = new Map(other.#learned);
    this.producers = new ProducerStates(other.producers);
    this.epochs = other.epochs;
    this.transactions = new PartitionTransactions();
    for (const { bytes } of this.batches) this.transactions.add(bytes);
  }

  #giveUp(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { settle } of waiting) settle('NOT_LEADER_FOR_PARTITION');
  }

  #advance(): void {
    const had = Array.from(this.inSync, (id) =>
      id === this.leader ? this.end : (this.#reached.get(id) ?? 0),
    );
    const next = Math.min(...had);
    if (next <= this.highWatermark) return;
    this.#highWatermark = next;
    const replicated = this.#waiting.filter(({ upTo }) => upTo <= next);
    this.#waiting = this.#waiting.filter(({ upTo }) => upTo > next);
    for (const { settle } of replicated) settle('NONE');
    this.tellReaders();
  }
}
