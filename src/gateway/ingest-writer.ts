import type { PostriderError } from '../errors.ts';
import { detailHeader, reasonHeader } from '../event/headers.ts';
import type { RejectReason } from '../event/rejection.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { SteadyClock, Timer } from '../ops/clock.ts';

export type IngestProducer = Pick<Producer, 'produce' | 'close'>;

export interface WriterEvents {
  /** Kafka did not acknowledge in time; so many calls were answered with an error. */
  kafkaLost(calls: number): void;
  kafkaBack(): void;
  /** Kafka acknowledges others, but not requests with so many calls; these were answered with an error. */
  someLost(calls: number): void;
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
/**
 * Kafka acknowledges within milliseconds, so a request that waits for so long may have calls for a partition that is
 * away. While Kafka is away, ten requests at most then wait for `ackTimeoutMs`.
 */
const nextProbeMs = 500;
/** The most that a producer may hold of requests that were given up: a quarter of what requests in flight may hold. */
const maxAbandonedBytes = 16 * 1024 * 1024;
/** The producer's memory for a record besides its value. */
const recordOverheadBytes = 500;

/** The bytes that a producer holds for the records. */
export function heldBytes(records: readonly OutgoingRecord[]): number {
  return records.reduce((sum, { value }) => sum + (value?.length ?? 0) + recordOverheadBytes, 0);
}

/** The records of one request. */
interface Write {
  readonly startedMs: number;
  producer: IngestProducer;
  readonly records: readonly OutgoingRecord[];
  unsettled: number;
  readonly settle: (acknowledged: boolean) => void;
}

/**
 * Writes the calls of requests, or reports within `ackTimeoutMs` that it could not. The producer repeats
 * without end, so when Kafka is too slow, the whole producer is dropped with everything that it holds, and a
 * new one is opened, which succeeds when Kafka can be reached. Until something of one request has been
 * acknowledged, two are let through in a second, and the others are turned away at once. Dropped calls may have
 * been written all the same: clients send them again with the same message ids.
 *
 * Where something of a later request is acknowledged, Kafka is there, and some of its partitions are away. Then
 * only late requests are given up. The producer goes on until a new one is open, unless it would hold too much
 * of what was given up, and then has time for what else it holds.
 */
export class IngestWriter {
  readonly #options: IngestWriterOptions;
  #producer: IngestProducer | undefined;
  #isProven = true;
  #isClosed = false;
  /** In order of their beginning, which is the order of their timeouts. */
  readonly #writes = new Set<Write>();
  #timer: Timer | undefined;
  /** The time at which the youngest request began. */
  #beganMs = -Infinity;
  /** The time at which the youngest request began of which something was acknowledged. */
  #acknowledgedMs = -Infinity;
  /** Bytes of requests that were given up and that the producer still holds. */
  #abandonedBytes = 0;
  #isOpening = false;

  private constructor(options: IngestWriterOptions) {
    this.#options = options;
  }

  static async open(options: IngestWriterOptions): Promise<IngestWriter> {
    const writer = new IngestWriter(options);
    writer.#producer = await options.openProducer();
    return writer;
  }

  /** False while Kafka is unreachable, and while requests find out whether it is back. */
  get isAvailable(): boolean {
    return this.#producer !== undefined && (this.#isProven || this.#writes.size === 0);
  }

  /** True if a request is taken now, be it to find out whether Kafka is back. */
  get takesWrites(): boolean {
    if (this.isAvailable) return true;
    const sinceMs = this.#options.clock.steadyNow() - this.#beganMs;
    return this.#producer !== undefined && sinceMs >= nextProbeMs;
  }

  /**
   * Resolves with true when every record is on every in-sync replica, with false if that is not known in
   * time.
   */
  write(records: readonly OutgoingRecord[]): Promise<boolean> {
    const producer = this.#producer;
    if (producer === undefined || !this.takesWrites || this.#isClosed)
      return Promise.resolve(false);
    if (records.length === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const startedMs = this.#options.clock.steadyNow();
      this.#beganMs = startedMs;
      const unsettled = records.length;
      const write: Write = { startedMs, producer, records, unsettled, settle: resolve };
      this.#writes.add(write);
      this.#watch();
      for (const record of records) this.#produce(record, write);
    });
  }

  /** Waits for what was accepted, but no longer than `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    await this.#producer?.close(timeoutMs);
    this.#timer?.cancel();
  }

  #produce(record: OutgoingRecord, write: Write): void {
    write.producer.produce(record, (refused) => {
      if (refused === undefined) {
        this.#isProven = true;
        this.#acknowledgedMs = Math.max(this.#acknowledgedMs, write.startedMs);
        this.#oneAcknowledged(write);
      } else if (record.topic === this.#options.rejectedTopic) {
        this.#options.events.refused(refused);
        this.#settle(write, false);
      } else if (this.#writes.has(write) && !this.#isClosed) {
        // Another one may have taken its place.
        write.producer = this.#producer ?? write.producer;
        this.#produce(this.#unwritable(record, refused), write);
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
      this.#giveUp();
      this.#watch();
    });
  }

  #giveUp(): void {
    const lateSinceMs = this.#options.clock.steadyNow() - this.#options.ackTimeoutMs;
    const late: Write[] = [];
    for (const write of this.#writes) {
      if (write.startedMs > lateSinceMs) break;
      late.push(write);
    }
    const [oldest] = late;
    if (oldest === undefined) return;
    const isThere = this.#acknowledgedMs > oldest.startedMs;
    if (isThere && this.#abandonedBytes < maxAbandonedBytes) this.#giveUpSome(late);
    else this.#giveUpAll();
  }

  #giveUpSome(late: readonly Write[]): void {
    this.#options.events.someLost(callsOf(late));
    for (const write of late) {
      this.#settle(write, false);
      // A former one is closed by now, or soon.
      if (write.producer !== this.#producer) continue;
      this.#abandonedBytes += heldBytes(write.records);
      this.#renew();
    }
  }

  #giveUpAll(): void {
    const producer = this.#producer;
    const given = [...this.#writes];
    this.#producer = undefined;
    this.#isProven = false;
    this.#abandonedBytes = 0;
    this.#options.events.kafkaLost(callsOf(given));
    for (const write of given) this.#settle(write, false);
    // Closing may wait for a hanging broker, and nothing depends on it.
    producer?.close(0).catch(() => undefined);
    this.#renew();
  }

  #renew(): void {
    if (this.#isOpening) return;
    this.#isOpening = true;
    void this.#open();
  }

  /** Never rejects: a gateway that stopped trying would turn every request away. */
  async #open(): Promise<void> {
    const { events, clock, ackTimeoutMs } = this.#options;
    try {
      const producer = await this.#options.openProducer();
      this.#isOpening = false;
      if (this.#isClosed) {
        await producer.close(0);
        return;
      }
      const former = this.#producer;
      this.#producer = producer;
      this.#abandonedBytes = 0;
      if (former === undefined) events.kafkaBack();
      else former.close(ackTimeoutMs).catch(() => undefined);
    } catch (error) {
      if (this.#isClosed) return;
      events.reopenFailed(error);
      clock.after(reopenMs, () => void this.#open());
    }
  }
}

function callsOf(writes: readonly Write[]): number {
  return writes.reduce((sum, { records }) => sum + records.length, 0);
}
