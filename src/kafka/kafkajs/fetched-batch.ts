import type { FetchedRecord } from './fetched-record.ts';

/** What a fetch response brings of a partition, as `FetchedBatch` needs it. */
export interface BatchPart {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedRecord[];
  /** Of what was read, which may be more than the messages; undefined: nothing was. */
  readonly lastOffset: number | undefined;
  /** Why what comes next cannot be read. */
  readonly problem?: Error | undefined;
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
  /** Of all that was read, also of what is not among the messages. */
  readonly lastOffset: number;
  /** Set if nothing could be read, and why. */
  readonly problem: Error | undefined;
  readonly highWatermark: number;
  /** Without markers and what is not committed. */
  readonly messages: readonly FetchedRecord[];
  readonly #positions: Positions;

  constructor(topic: string, fetchedOffset: number, part: BatchPart, positions: Positions) {
    const { partition, highWatermark, messages, lastOffset } = part;
    this.topic = topic;
    this.partition = partition;
    this.fetchedOffset = fetchedOffset;
    this.highWatermark = Number(highWatermark);
    // A compressed batch comes whole, even if the fetch begins in the middle of it.
    const asked = messages.filter(({ offsetNumber }) => offsetNumber >= fetchedOffset);
    this.messages = asked.filter(({ isControlRecord }) => !isControlRecord);
    this.lastOffset = Math.max(lastOffset ?? fetchedOffset - 1, fetchedOffset - 1);
    this.problem = lastOffset === undefined ? part.problem : undefined;
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
