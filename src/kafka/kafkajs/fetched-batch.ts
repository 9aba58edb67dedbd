import type { FetchedRecord } from './fetched-record.ts';

/** What a fetch response brings of a partition, as `FetchedBatch` needs it. */
export interface BatchPart {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedRecord[];
}

interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** Where kafkajs reads on, by partition: the part of its ConsumerGroup that a batch needs. */
export interface Positions {
  hasSeekOffset(place: Place): boolean;
  resolveOffset(last: Place & { readonly offset: string }): void;
}

/** Records of one partition, or nothing but markers and aborted records. */
export class FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  /** Where the fetch began. */
  readonly fetchedOffset: number;
  /** Of all that was asked for, also of what is not among the messages. */
  readonly lastOffset: number;
  readonly highWatermark: number;
  /** Without markers and what is not committed. */
  readonly messages: readonly FetchedRecord[];
  readonly #positions: Positions;

  constructor(topic: string, fetchedOffset: number, part: BatchPart, positions: Positions) {
    const { partition, highWatermark, messages } = part;
    this.topic = topic;
    this.partition = partition;
    this.fetchedOffset = fetchedOffset;
    this.highWatermark = Number(highWatermark);
    // A compressed batch comes whole, even if the fetch begins in the middle of it.
    const asked = messages.filter(({ offsetNumber }) => offsetNumber >= fetchedOffset);
    this.messages = asked.filter(({ isControlRecord }) => !isControlRecord);
    // Compaction may have removed all that was asked for.
    this.lastOffset = asked.at(-1)?.offsetNumber ?? fetchedOffset;
    this.#positions = positions;
  }

  /** Whether it was fetched before a seek, which has yet to be carried out. */
  isStale(): boolean {
    return this.#positions.hasSeekOffset(this);
  }

  /** The partition is read on behind this batch. */
  resolve(): void {
    const { topic, partition, lastOffset } = this;
    this.#positions.resolveOffset({ topic, partition, offset: String(lastOffset) });
  }
}
