import type { KafkaClient } from '../../kafka/client.ts';
import { startFollower, type Follower } from '../../kafka/follow/follower.ts';
import type { IncomingRecord } from '../../kafka/record.ts';
import type { Logger } from '../../ops/log.ts';
import type { OffsetRow } from './schema.ts';

export interface FeedOptions {
  readonly kafka: KafkaClient;
  readonly topic: string;
  readonly log: Logger;
  /** The offsets of this topic that are in the file. */
  readonly stored: readonly OffsetRow[];
  /** Something can be taken. */
  onRecords(): void;
  onCrash(error: Error): void;
}

/** Lines unpack to ten times as many bytes, and each of a dozen partitions brings as much. */
const maxPartitionBytes = 128 * 1024;

/** Values that wait to be indexed: beyond this, nothing more is fetched. One fetched answer still comes. */
const mostWaitingBytes = 2 * 1024 * 1024;

/** One topic on its way into the file: read on from where the file is, and no faster than it is written. */
export class TopicFeed {
  readonly topic: string;
  readonly #options: FeedOptions;
  #stored: ReadonlyMap<number, OffsetRow>;
  #follower: Follower | undefined;
  #waiting: IncomingRecord[] = [];
  /** The time at which each of them came, by `performance.now()`. */
  #cameMs: number[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  /** True if the file's rows are of another topic with this name, or of a log that was cut off. */
  #isVoid = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.topic = options.topic;
    this.#stored = new Map(options.stored.map((row) => [row.partition, row]));
  }

  start(): void {
    const { kafka, topic, log } = this.#options;
    this.#follower = startFollower(kafka, {
      topic,
      log,
      maxWaitMs: 500,
      maxPartitionBytes,
      from: (partition, topicId) => this.#from(partition, topicId),
      onRecord: (record) => {
        this.#accept(record);
      },
      onRestart: () => {
        this.#forget();
      },
      onCrash: (error) => {
        this.#options.onCrash(error);
      },
    });
  }

  get topicId(): string {
    return this.#follower?.topicId ?? '';
  }

  get isFresh(): boolean {
    return this.#follower?.isFresh() === true && this.#waiting.length === 0;
  }

  /** Everything that was written before this time of `performance.now()` has been taken. */
  get takenUntilMs(): number {
    return Math.min(this.#follower?.knownAtMs ?? -Infinity, this.#cameMs[0] ?? Infinity);
  }

  /** True once, if everything in the file of this topic has to go before what is taken next. */
  takeIsVoid(): boolean {
    const isVoid = this.#isVoid;
    this.#isVoid = false;
    return isVoid;
  }

  /** In each partition's order; about so many bytes. */
  take(bytes: number): readonly IncomingRecord[] {
    let count = 0;
    for (let taken = 0; count < this.#waiting.length && taken < bytes; count += 1) {
      const size = sizeOf(this.#waiting[count]);
      taken += size;
      this.#waitingBytes -= size;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#cameMs = this.#cameMs.slice(count);
    if (this.#isPaused && this.#waitingBytes < mostWaitingBytes / 2) {
      this.#isPaused = false;
      this.#follower?.resume();
    }
    return taken;
  }

  async stop(): Promise<void> {
    await this.#follower?.stop();
  }

  #from(partition: number, topicId: string | undefined): number | undefined {
    const stored = this.#stored.get(partition);
    if (stored === undefined) return undefined;
    if (topicId === undefined || stored.topicId === topicId) return stored.next;
    this.#options.log.warn(
      { topic: this.topic },
      'a topic was made again: its index is made again',
    );
    this.#forget();
    return undefined;
  }

  #accept(record: IncomingRecord): void {
    this.#waiting.push(record);
    this.#cameMs.push(performance.now());
    this.#waitingBytes += sizeOf(record);
    if (!this.#isPaused && this.#waitingBytes > mostWaitingBytes) {
      this.#isPaused = true;
      this.#follower?.pause();
    }
    this.#options.onRecords();
  }

  #forget(): void {
    this.#stored = new Map();
    this.#waiting = [];
    this.#cameMs = [];
    this.#waitingBytes = 0;
    this.#isVoid = true;
    this.#options.onRecords();
  }
}

/** The bytes of a record, and of the objects around them. */
function sizeOf(record: IncomingRecord | undefined): number {
  let bytes = (record?.key?.length ?? 0) + (record?.value?.length ?? 0) + 200;
  for (const value of Object.values(record?.headers ?? {})) bytes += value?.length ?? 0;
  return bytes;
}
