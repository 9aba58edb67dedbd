import type { ClusterClient } from '../../../src/kafka/cluster/cluster.ts';
import {
  startConsumeLoop,
  type ConsumeLoop,
  type ConsumeLoopOptions,
} from '../../../src/kafka/consume/consume-loop.ts';
import type { TakenRecord } from '../../../src/kafka/consume/taken-record.ts';
import type { TopicPartition } from '../../../src/kafka/record.ts';

/** A member that keeps what it receives in flight until the test finishes it. */
export class Member {
  loop!: ConsumeLoop;
  readonly received: TakenRecord[] = [];
  readonly lost: string[] = [];
  /** Finish records as they come. */
  finishes = false;
  /** Release what is in flight as soon as its partition is to move. */
  releases = false;
  readonly #kafka: ClusterClient;
  readonly #options: Omit<ConsumeLoopOptions, 'onRecords'>;

  constructor(kafka: ClusterClient, options: Omit<ConsumeLoopOptions, 'onRecords'>) {
    this.#kafka = kafka;
    this.#options = options;
  }

  start(): void {
    this.loop = startConsumeLoop(this.#kafka, {
      ...this.#options,
      onRevoked: (partitions) => {
        if (this.releases) this.#release(partitions);
        this.#options.onRevoked?.(partitions);
      },
      onLost: (partitions) => {
        this.lost.push(...partitions.map(({ topic, partition }) => `${topic}/${partition}`));
        this.#options.onLost?.(partitions);
      },
      onRecords: (records) => {
        this.received.push(...records);
        if (this.finishes) for (const record of records) record.finish();
      },
    });
  }

  /** The numbers that were written, in ascending order, repeats included. */
  values(): number[] {
    return this.received.map(({ value }) => Number(value)).toSorted((a, b) => a - b);
  }

  finishAll(): void {
    for (const record of this.received) record.finish();
  }

  /** Nobody works on what is not finished any more. */
  releaseAll(): void {
    for (const record of this.received) record.release();
  }

  #release(partitions: readonly TopicPartition[]): void {
    for (const record of this.received)
      if (
        partitions.some(
          (each) => each.topic === record.topic && each.partition === record.partition,
        )
      )
        record.release();
  }

  owns(): string[] {
    return this.loop
      .assigned()
      .map(({ topic, partition }) => `${topic}/${partition}`)
      .toSorted();
  }
}

export function numbers(count: number, from: number = 0): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}
