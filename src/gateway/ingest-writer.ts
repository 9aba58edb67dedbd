import type { PostriderError } from '../errors.ts';
import { detailHeader, reasonHeader } from '../event/headers.ts';
import type { RejectReason } from '../event/rejection.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { SteadyClock } from '../ops/clock.ts';

export type IngestProducer = Pick<Producer, 'produce' | 'reached' | 'close'>;

export interface WriterEvents {
  /** Requests are turned away from now on. */
  kafkaLost(): void;
  /** Kafka acknowledges again. */
  kafkaBack(): void;
  /**
   * A request with so many calls was answered with an error, because Kafka did not acknowledge them in time.
   * @param isKafkaThere whether Kafka acknowledges those of others
   */
  givenUp(calls: number, isKafkaThere: boolean): void;
  /** Kafka will never accept the record, neither as a call nor as a rejected one. */
  refused(error: PostriderError): void;
}

export interface IngestWriterOptions {
  /** It gives up what Kafka does not acknowledge in time. */
  readonly producer: IngestProducer;
  readonly rejectedTopic: string;
  readonly clock: SteadyClock;
  readonly events: WriterEvents;
}

/**
 * Kafka acknowledges within milliseconds, so a request that waits for so long may have calls for a partition that is
 * away. While Kafka is away, ten requests at most then wait for the producer's deadline.
 */
const nextProbeMs = 500;
/** The producer's memory for a record besides its value. */
const recordOverheadBytes = 500;

/** The bytes that a producer holds for the records. */
export function heldBytes(records: readonly OutgoingRecord[]): number {
  return records.reduce((sum, { value }) => sum + (value?.length ?? 0) + recordOverheadBytes, 0);
}

/** The records of one request. */
interface Write {
  readonly startedMs: number;
  readonly calls: number;
  unsettled: number;
  readonly settle: (acknowledged: boolean) => void;
}

/**
 * - `there`: Kafka acknowledges
 * - `lost`: it does not, and no broker has answered since
 * - `reached`: a broker answers, and nothing is acknowledged yet
 */
type KafkaState = 'there' | 'lost' | 'reached';

/**
 * Writes the calls of requests, or reports that Kafka did not acknowledge them before the producer's deadline. They may
 * have been written all the same: clients send them again with the same message ids.
 *
 * If something of a later request was acknowledged meanwhile, some of Kafka's partitions are away, and only late
 * requests are given up. Otherwise Kafka is away, and everybody is turned away until a broker answers. Then two requests
 * a second find out whether it acknowledges, until it does.
 */
export class IngestWriter {
  readonly #options: IngestWriterOptions;
  #kafka: KafkaState = 'there';
  #isClosed = false;
  /** The requests that wait. */
  readonly #writes = new Set<Write>();
  /** The time at which the youngest request began. */
  #beganMs = -Infinity;
  /** The time at which the youngest request began of which something was acknowledged. */
  #acknowledgedMs = -Infinity;

  constructor(options: IngestWriterOptions) {
    this.#options = options;
  }

  /** False while Kafka is unreachable, and while requests find out whether it is back. */
  get isAvailable(): boolean {
    return this.#kafka === 'there' || (this.#kafka === 'reached' && this.#writes.size === 0);
  }

  /** True if a request is taken now, be it to find out whether Kafka is back. */
  get takesWrites(): boolean {
    if (this.isAvailable) return true;
    const sinceMs = this.#options.clock.steadyNow() - this.#beganMs;
    return this.#kafka === 'reached' && sinceMs >= nextProbeMs;
  }

  /**
   * Resolves with true when every record is on every in-sync replica, with false if that is not known in
   * time.
   */
  write(records: readonly OutgoingRecord[]): Promise<boolean> {
    if (!this.takesWrites || this.#isClosed) return Promise.resolve(false);
    if (records.length === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const startedMs = this.#options.clock.steadyNow();
      this.#beganMs = startedMs;
      const { length: calls } = records;
      const write: Write = { startedMs, calls, unsettled: calls, settle: resolve };
      this.#writes.add(write);
      for (const record of records) this.#produce(record, write);
    });
  }

  /** Waits for what was accepted, but no longer than `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    await this.#options.producer.close(timeoutMs);
  }

  #produce(record: OutgoingRecord, write: Write): void {
    this.#options.producer.produce(record, (error) => {
      if (error === undefined) this.#acknowledged(write);
      else if (error.code === 'kafka-unavailable') this.#late(write);
      else if (record.topic === this.#options.rejectedTopic) {
        this.#options.events.refused(error);
        this.#settle(write, false);
      } else if (this.#writes.has(write) && !this.#isClosed) {
        this.#produce(this.#unwritable(record, error), write);
      }
    });
  }

  #unwritable(record: OutgoingRecord, { message }: PostriderError): OutgoingRecord {
    const reason: RejectReason = 'unwritable';
    const headers = { ...record.headers, [reasonHeader]: reason, [detailHeader]: message };
    return { ...record, topic: this.#options.rejectedTopic, headers };
  }

  #acknowledged(write: Write): void {
    this.#acknowledgedMs = Math.max(this.#acknowledgedMs, write.startedMs);
    if (this.#kafka !== 'there') {
      this.#kafka = 'there';
      this.#options.events.kafkaBack();
    }
    write.unsettled -= 1;
    if (write.unsettled === 0) this.#settle(write, true);
  }

  #late(write: Write): void {
    if (!this.#writes.has(write)) return;
    const isThere = this.#acknowledgedMs > write.startedMs;
    this.#options.events.givenUp(write.calls, isThere);
    if (!isThere && this.#kafka !== 'lost') this.#lost();
    this.#settle(write, false);
  }

  #lost(): void {
    const { producer, events } = this.#options;
    if (this.#kafka === 'there') events.kafkaLost();
    this.#kafka = 'lost';
    const reached = (): void => {
      if (this.#kafka === 'lost') this.#kafka = 'reached';
    };
    // It rejects only when the producer is closed.
    producer.reached().then(reached, () => undefined);
  }

  #settle(write: Write, acknowledged: boolean): void {
    if (this.#writes.delete(write)) write.settle(acknowledged);
  }
}
