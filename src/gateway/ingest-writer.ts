import type { PostriderError } from '../errors.ts';
import { detailHeader, reasonHeader } from '../event/rejected-headers.ts';
import type { RejectReason } from '../event/rejection.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { SteadyClock, Timer } from '../ops/clock.ts';

export type IngestProducer = Pick<Producer, 'produce' | 'close'>;

export interface WriterEvents {
  /** Kafka did not acknowledge in time; so many calls were answered with an error. */
  kafkaLost(calls: number): void;
  kafkaBack(): void;
  /** A new producer cannot be opened. It is tried again. */
  reopenFailed(error: unknown): void;
  /** Kafka will never accept the record, neither as a call nor as a rejected one. */
  refused(error: PostriderError): void;
}

export interface IngestWriterOptions {
  /** Resolves once Kafka has been reached. */
  openProducer(): Promise<IngestProducer>;
  readonly rejectedTopic: string;
  readonly ackTimeoutMs: number;
  readonly clock: SteadyClock;
  readonly events: WriterEvents;
}

/** Pause after a failure to open a producer. Opening itself waits while Kafka is unreachable. */
const reopenMs = 1_000;

/** The records of one request. */
interface Write {
  readonly startedMs: number;
  unsettled: number;
  readonly calls: number;
  readonly settle: (acknowledged: boolean) => void;
}

/**
 * Writes the calls of requests, or reports within `ackTimeoutMs` that it could not. The producer repeats
 * without end, so when Kafka is too slow, the whole producer is dropped with everything that it holds, and a
 * new one is opened, which succeeds when Kafka can be reached. Until one request has been acknowledged, the
 * next ones are turned away at once. Dropped calls may have been written all the same: clients send them
 * again with the same message ids.
 */
export class IngestWriter {
  readonly #options: IngestWriterOptions;
  #producer: IngestProducer | undefined;
  #isProven = true;
  #isClosed = false;
  /** In order of their beginning, which is the order of their timeouts. */
  readonly #writes = new Set<Write>();
  #timer: Timer | undefined;

  private constructor(options: IngestWriterOptions) {
    this.#options = options;
  }

  static async open(options: IngestWriterOptions): Promise<IngestWriter> {
    const writer = new IngestWriter(options);
    writer.#producer = await options.openProducer();
    return writer;
  }

  /** False while Kafka is unreachable, and while one request finds out whether it is back. */
  get isAvailable(): boolean {
    return this.#producer !== undefined && (this.#isProven || this.#writes.size === 0);
  }

  /**
   * Resolves with true when every record is on every in-sync replica, with false if that is not known in
   * time.
   */
  write(records: readonly OutgoingRecord[]): Promise<boolean> {
    const producer = this.#producer;
    if (producer === undefined || !this.isAvailable || this.#isClosed)
      return Promise.resolve(false);
    if (records.length === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const calls = records.length;
      const startedMs = this.#options.clock.steadyNow();
      const write: Write = { startedMs, unsettled: calls, calls, settle: resolve };
      this.#writes.add(write);
      this.#watch();
      for (const record of records) this.#produce(producer, record, write);
    });
  }

  /** Waits for what was accepted, but no longer than `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    await this.#producer?.close(timeoutMs);
    this.#timer?.cancel();
  }

  #produce(producer: IngestProducer, record: OutgoingRecord, write: Write): void {
    producer.produce(record, (refused) => {
      if (refused === undefined) {
        this.#isProven = true;
        this.#oneAcknowledged(write);
      } else if (record.topic === this.#options.rejectedTopic) {
        this.#options.events.refused(refused);
        this.#settle(write, false);
      } else if (this.#writes.has(write) && !this.#isClosed) {
        this.#produce(producer, this.#unwritable(record, refused), write);
      }
    });
  }

  #unwritable(record: OutgoingRecord, { message }: PostriderError): OutgoingRecord {
    const reason: RejectReason = 'unwritable';
    const headers = { ...record.headers, [reasonHeader]: reason, [detailHeader]: message };
    return { ...record, topic: this.#options.rejectedTopic, headers };
  }

  #oneAcknowledged(write: Write): void {
    write.unsettled -= 1;
    if (write.unsettled === 0) this.#settle(write, true);
  }

  #settle(write: Write, acknowledged: boolean): void {
    if (this.#writes.delete(write)) write.settle(acknowledged);
  }

  /** One timer for the oldest write, because most are acknowledged long before it fires. */
  #watch(): void {
    if (this.#timer !== undefined) return;
    const { clock, ackTimeoutMs } = this.#options;
    const oldest = this.#writes.values().next().value;
    if (oldest === undefined) return;
    this.#timer = clock.after(oldest.startedMs + ackTimeoutMs - clock.steadyNow(), () => {
      this.#timer = undefined;
      const [first] = this.#writes;
      const isLate = first !== undefined && clock.steadyNow() - first.startedMs >= ackTimeoutMs;
      if (isLate) this.#giveUp();
      else this.#watch();
    });
  }

  #giveUp(): void {
    const producer = this.#producer;
    const given = [...this.#writes];
    this.#producer = undefined;
    this.#isProven = false;
    this.#options.events.kafkaLost(given.reduce((sum, { calls }) => sum + calls, 0));
    for (const write of given) this.#settle(write, false);
    // Closing may wait for a hanging broker, and nothing depends on it.
    producer?.close(0).catch(() => undefined);
    void this.#reopen();
  }

  /** Never rejects: a gateway that stopped trying would turn every request away. */
  async #reopen(): Promise<void> {
    const { events, clock } = this.#options;
    try {
      const producer = await this.#options.openProducer();
      if (this.#isClosed) {
        await producer.close(0);
        return;
      }
      this.#producer = producer;
      events.kafkaBack();
    } catch (error) {
      if (this.#isClosed) return;
      events.reopenFailed(error);
      clock.after(reopenMs, () => void this.#reopen());
    }
  }
}
