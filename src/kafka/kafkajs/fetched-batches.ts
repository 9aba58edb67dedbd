import type { FetchedBatch } from './fetched-batch.ts';

/**
 * All batches that one fetch brought, which kafkajs takes for a single one of a topic without a name. For
 * each that it hands over it has events, a heartbeat and a dozen promises, and that costs more than the few
 * records of each partition of a worker that keeps up.
 */
export class FetchedBatches {
  readonly batches: readonly FetchedBatch[];
  readonly topic = '';
  /** kafkajs hands two of the same partition over one after the other: those of a broker. */
  readonly partition: number;
  readonly highWatermark = '0';
  readonly messages: readonly [] = [];

  constructor(nodeId: number, batches: readonly FetchedBatch[]) {
    this.partition = nodeId;
    this.batches = batches;
  }

  isEmpty(): boolean {
    return false;
  }

  /** If it said so, kafkajs would move the position of a partition by itself. */
  isEmptyDueToFiltering(): boolean {
    return false;
  }

  firstOffset(): null {
    return null;
  }

  lastOffset(): string {
    return '0';
  }

  offsetLag(): string {
    return '0';
  }

  offsetLagLow(): string {
    return '0';
  }
}
