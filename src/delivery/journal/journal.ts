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
  /** The present number of the topic's partitions, which may grow. */
  readonly partitions: () => number;
  readonly clock: Clock;
  readonly keeps: Exclude<KeptAttempts, 'off'>;
}

/** Large enough for zstd to compress lines well. */
const fullRecordBytes = 64 * 1024;
const mostWaitMs = 1_000;
/** Bound on lines that are buffered, or given to the producer and not acknowledged. */
const mostHeldBytes = 8 * 1024 * 1024;

/** The least share of one partition: a record that is gathered, and one on its way. */
const leastShareBytes = 2 * fullRecordBytes;

/** Lines that are not given to the producer yet. */
interface Page {
  text: string;
  lines: number;
  /** Bytes of the partition that are held, here and by the producer. */
  heldBytes: number;
}

/**
 * Writes what happens to events into the topic `attempts`, many lines in a record. Lines never delay
 * deliveries: lines that Kafka does not take in time are dropped and counted.
 */
export class AttemptJournal {
  readonly #options: JournalOptions;
  /** The pages by partition. A partition of which nothing is held has none. */
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
   * An attempt with such an outcome gets a line. A delivery gets none with `ATTEMPTS=failures`, unless the event had
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
    const { partitions, clock } = this.#options;
    const count = partitions();
    const partition = key === null ? 0 : partitionOf(key, count);
    // A partition that cannot be written takes no room of the others.
    const shareBytes = Math.max(mostHeldBytes / count, leastShareBytes);
    const page = this.#pages.get(partition) ?? { text: '', lines: 0, heldBytes: 0 };
    const isFull =
      this.#heldBytes + line.length > mostHeldBytes || page.heldBytes + line.length > shareBytes;
    if (isFull) {
      this.#dropped += 1;
      return;
    }
    this.#pages.set(partition, page);
    this.#heldBytes += line.length;
    page.heldBytes += line.length;
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

  #flush(partition: number, page: Page): void {
    const { text, lines } = page;
    if (lines === 0) return;
    page.text = '';
    page.lines = 0;
    const { producer, topic } = this.#options;
    const record = { topic, partition, key: null, value: Buffer.from(text), mayWait: true };
    producer.produce(record, (refused) => {
      this.#heldBytes -= text.length;
      page.heldBytes -= text.length;
      if (page.heldBytes === 0) this.#pages.delete(partition);
      if (refused === undefined) this.#written += lines;
      else this.#dropped += lines;
      if (this.#heldBytes === 0) this.#onEmpty();
    });
  }
}
