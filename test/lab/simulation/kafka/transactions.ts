import type { ProducerIdentity } from '../../../../src/kafka/protocol/produce.ts';
import { kafkaError } from '../../../kafka/batches.ts';
import { makeMarker } from '../../../kafka/protocol/make-batch.ts';
import type { VirtualTimer } from '../virtual-time.ts';
import type { SimulatedBrokers } from './brokers.ts';
import type { SimulatedPartition } from './partition.ts';

interface Writer {
  readonly producerId: number;
  epoch: number;
  /** `ending`: its end is decided, and not written everywhere yet. */
  state: 'empty' | 'ongoing' | 'ending';
  wasCommitted: boolean;
  readonly partitions: Set<SimulatedPartition>;
  timeoutMs: number;
  timer: VirtualTimer | undefined;
}

const markAgainMs = 100;

/**
 * Coordinates transactions by id, as Kafka does: each writer that begins fences the one before it and aborts what
 * that one has left open, and a transaction that takes too long is aborted. Its own log is never lost.
 */
export class SimulatedTransactions {
  readonly #brokers: SimulatedBrokers;
  readonly #writers = new Map<string, Writer>();

  constructor(brokers: SimulatedBrokers) {
    this.#brokers = brokers;
  }

  /** Every transaction that has begun is over. */
  get areOver(): boolean {
    return [...this.#writers.values()].every(({ state }) => state === 'empty');
  }

  begin(id: string, timeoutMs: number): ProducerIdentity {
    const known = this.#writers.get(id);
    if (known === undefined) {
      const producerId = this.#brokers.initProducerId().id;
      const made = { producerId, epoch: 0, wasCommitted: false, timeoutMs, timer: undefined };
      this.#writers.set(id, { ...made, state: 'empty', partitions: new Set() });
      return { id: producerId, epoch: 0 };
    }
    if (known.state === 'ongoing') this.#abort(known);
    if (known.state === 'ending') throw kafkaError('CONCURRENT_TRANSACTIONS');
    known.epoch += 1;
    known.timeoutMs = timeoutMs;
    return { id: known.producerId, epoch: known.epoch };
  }

  join(id: string, identity: ProducerIdentity, partitions: readonly SimulatedPartition[]): void {
    const writer = this.#require(id, identity);
    if (writer.state === 'ending') throw kafkaError('CONCURRENT_TRANSACTIONS');
    if (writer.state === 'empty')
      writer.timer = this.#brokers.time.after(writer.timeoutMs, () => {
        this.#abort(writer);
      });
    writer.state = 'ongoing';
    for (const partition of partitions) writer.partitions.add(partition);
  }

  end(id: string, identity: ProducerIdentity, isCommitted: boolean): void {
    const writer = this.#require(id, identity);
    if (writer.state === 'ending') throw kafkaError('CONCURRENT_TRANSACTIONS');
    if (writer.state === 'empty' && writer.wasCommitted !== isCommitted)
      throw kafkaError('INVALID_TXN_STATE');
    if (writer.state === 'ongoing') this.#end(writer, isCommitted);
  }

  #require(id: string, identity: ProducerIdentity): Writer {
    const writer = this.#writers.get(id);
    if (writer === undefined || writer.producerId !== identity.id)
      throw kafkaError('INVALID_PRODUCER_ID_MAPPING');
    if (writer.epoch !== identity.epoch) throw kafkaError('INVALID_PRODUCER_EPOCH');
    return writer;
  }

  /** Whoever has it open is fenced. */
  #abort(writer: Writer): void {
    writer.epoch += 1;
    this.#end(writer, false);
  }

  #end(writer: Writer, isCommitted: boolean): void {
    const { partitions, timer, producerId, epoch } = writer;
    if (timer !== undefined) timer[Symbol.dispose]();
    writer.state = 'ending';
    writer.wasCommitted = isCommitted;
    const marker = makeMarker(0, producerId, isCommitted ? 'commit' : 'abort', epoch);
    for (const partition of partitions)
      this.#mark(partition, marker, () => {
        partitions.delete(partition);
        if (partitions.size === 0) writer.state = 'empty';
      });
  }

  #mark(partition: SimulatedPartition, marker: Buffer, marked: () => void): void {
    const brokers = this.#brokers;
    const { time } = brokers;
    const again = (): void => {
      time.after(markAgainMs, () => {
        this.#mark(partition, marker, marked);
      });
    };
    if (!brokers.isUp(partition.leader)) {
      again();
      return;
    }
    brokers.append(partition, marker);
    partition.whenReplicated(partition.end, (error) => {
      if (error === 'NONE') marked();
      else again();
    });
  }
}
