import type { FetchedRecord } from './fetched-record.ts';

/** What a fetch response brings of a partition, as `FetchedBatch` needs it. */
export interface BatchPart {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedRecord[];
}

/**
 * kafkajs's batch, with `fetchedOffset`, and without a big integer for each record and question. One of
 * nothing but markers and aborted records is handed over like any other, with no messages.
 */
export class FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  /** Where the fetch began. */
  readonly fetchedOffset: string;
  readonly highWatermark: string;
  /** Without markers and what is not committed. */
  readonly messages: readonly FetchedRecord[];
  readonly #isAnythingRead: boolean;
  readonly #first: number | undefined;
  readonly #last: number | undefined;

  constructor(topic: string, fetchedOffset: string, part: BatchPart) {
    const { partition, highWatermark, messages } = part;
    this.topic = topic;
    this.partition = partition;
    this.fetchedOffset = fetchedOffset;
    this.highWatermark = highWatermark;
    const first = Number(fetchedOffset);
    // A compressed batch comes whole, even if the fetch begins in the middle of it.
    const asked = messages.filter(({ offsetNumber }) => offsetNumber >= first);
    this.messages = asked.filter(({ isControlRecord }) => !isControlRecord);
    this.#isAnythingRead = messages.length > 0;
    this.#first = asked[0]?.offsetNumber;
    this.#last = asked.at(-1)?.offsetNumber;
  }

  /** Whether the fetch brought nothing at all. */
  isEmpty(): boolean {
    return !this.#isAnythingRead;
  }

  /** If it said so, kafkajs would move its position behind a batch that may be void by now. */
  isEmptyDueToFiltering(): boolean {
    return false;
  }

  /** Null if compaction has removed all that was asked for, or if there is nothing yet. */
  firstOffset(): string | null {
    return this.#first === undefined ? null : String(this.#first);
  }

  lastOffset(): string {
    if (this.#last !== undefined) return String(this.#last);
    return this.#isAnythingRead ? this.fetchedOffset : String(Number(this.highWatermark) - 1);
  }

  /** Behind the last record of it. */
  offsetLag(): string {
    return String(Number(this.highWatermark) - 1 - Number(this.lastOffset()));
  }

  /** Behind the first record of it. */
  offsetLagLow(): string {
    if (this.#first === undefined) return '0';
    return String(Number(this.highWatermark) - 1 - this.#first);
  }
}
