import { recordBytes } from '../kafka/produce/record-size.ts';
import type { PlacedRecord } from '../kafka/produce/transactions.ts';

/** A change, ready to be written. */
export interface OutgoingChange {
  readonly userId: string;
  /** Partition of `audience-members`. */
  readonly partition: number;
  readonly records: readonly PlacedRecord[];
}

/** A transaction costs Kafka about as much as a thousand changes. */
export const fullBatchChanges = 5_000;
/** Bound for one partition: Kafka refuses batches above 1 MB by default. */
const mostPartitionBytes = 900 * 1024;

/**
 * The records of the changes that are committed together. All users are of one partition of
 * `audience-members`.
 */
export class ChangeBatch {
  readonly records: PlacedRecord[] = [];
  /** By topic and partition. */
  readonly #bytes = new Map<string, number[]>();
  readonly #mostChanges: number;
  #changes = 0;
  #lastUserId = '';

  constructor(mostChanges: number) {
    this.#mostChanges = mostChanges;
  }

  get changes(): number {
    return this.#changes;
  }

  get lastUserId(): string {
    return this.#lastUserId;
  }

  /** False if the change's records do not fit. They are not added then. */
  add({ userId, records }: OutgoingChange): boolean {
    if (this.#changes === this.#mostChanges) return false;
    for (const record of records) {
      const ofTopic = this.#bytes.get(record.topic) ?? [];
      if (ofTopic.length === 0) this.#bytes.set(record.topic, ofTopic);
      const bytes = (ofTopic[record.partition] ?? 0) + recordBytes(record);
      if (bytes > mostPartitionBytes && this.#changes > 0) return false;
      ofTopic[record.partition] = bytes;
    }
    this.records.push(...records);
    this.#changes += 1;
    this.#lastUserId = userId;
    return true;
  }
}
