import type { KeptAttempts } from '../../event/attempt-line.ts';
import { partitionOf } from '../../kafka/produce/partitioner.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { Clock, Timer } from '../../ops/clock.ts';
import { waitAtMost } from '../../ops/wait.ts';
import type { Job } from '../job.ts';
import type { Outcome } from '../outcome.ts';

export interface JournalOptions {
  readonly producer: Pick<Producer, 'produce'>;
  readonly topic: string;
  /** Of the topic: it may grow. */
  readonly partitions: () => number;
  readonly clock: Clock;
  readonly keeps: Exclude<KeptAttempts, 'off'>;
}

/** Large enough for zstd to compress lines well. */
const fullRecordBytes = 64 * 1024;
const mostWaitMs = 1_000;
/** Bound on lines that are buffered, or given to the producer and not acknowledged. */
const mostHeldBytes = 8 * 1024 * 1024;

interface Page {
  text: string;
  lines: number;
}

/**
 * Writes what happens to events into the topic `attempts`, many lines in a record. Lines never delay
 * deliveries: lines that Kafka does not take in time are dropped and counted.
 */
export class AttemptJournal {
  readonly #options: JournalOptions;
  /** By partition. A partition without lines has no page. */
  readonly #pages = new Map<number, Page>();
  #heldBytes = 0;
  #timer: Timer | undefined;
  #written = 0;
  #dropped = 0;
  #onEmpty: () => void = () => undefined;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** Lines that Kafka has acknowledged. */
  get written(): number {
    return this.#written;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Whether such an attempt gets a line. With `ATTEMPTS=failures`, a delivery gets one only if the event had
   * failed before.
   */
  keeps(
    { envelope, hasReturned }: Pick<Job, 'envelope' | 'hasReturned'>,
    { kind }: Outcome,
  ): boolean {
    return (
      this.#options.keeps === 'all' || kind !== 'delivered' || hasReturned || envelope.attempts > 0
    );
  }

  /** @param key of the event's record: its lines are in one partition */
  write(key: Buffer | null, line: string): void {
    if (this.#heldBytes + line.length > mostHeldBytes) {
      this.#dropped += 1;
      return;
    }
    const { partitions, clock } = this.#options;
    const partition = key === null ? 0 : partitionOf(key, partitions());
    this.#heldBytes += line.length;
    let page = this.#pages.get(partition);
    if (page === undefined) this.#pages.set(partition, (page = { text: '', lines: 0 }));
    page.text += line;
    page.lines += 1;
    if (page.text.length >= fullRecordBytes) this.#flush(partition, page);
    this.#timer ??= clock.after(mostWaitMs, () => {
      this.#timer = undefined;
      this.flush();
    });
  }

  /** Writes the buffered lines, and waits for Kafka's acknowledgement, but no longer than `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    this.#timer?.cancel();
    this.flush();
    if (this.#heldBytes === 0) return;
    await waitAtMost(
      timeoutMs,
      new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      }),
    );
  }

  flush(): void {
    for (const [partition, page] of this.#pages) this.#flush(partition, page);
  }

  #flush(partition: number, { text, lines }: Page): void {
    this.#pages.delete(partition);
    const { producer, topic } = this.#options;
    const record = { topic, partition, key: null, value: Buffer.from(text), mayWait: true };
    producer.produce(record, (refused) => {
      this.#heldBytes -= text.length;
      if (refused === undefined) this.#written += lines;
      else this.#dropped += lines;
      if (this.#heldBytes === 0) this.#onEmpty();
    });
  }
}
