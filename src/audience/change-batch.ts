import { recordBytes } from '../kafka/produce/record-size.ts';
import { placeName, type PlacedRecord } from '../kafka/produce/transactions.ts';

/** A transaction costs Kafka about as much as a thousand changes. */
export const fullBatchChanges = 5_000;
/** Of one partition: Kafka refuses batches above 1 MB by default. */
const mostPartitionBytes = 900 * 1024;

/** The records of the changes that are committed together; all users of one partition of `audience-members`. */
export class ChangeBatch {
  readonly records: PlacedRecord[] = [];
  readonly #bytes = new Map<string, number>();
  readonly #mostChanges: number;
  #changes = 0;

  constructor(mostChanges: number) {
    this.#mostChanges = mostChanges;
  }

  get changes(): number {
    return this.#changes;
  }

  /** False where the change's records do not fit in; they are then not added. */
  add(records: readonly PlacedRecord[]): boolean {
    if (this.#changes === this.#mostChanges) return false;
    for (const record of records) {
      const place = placeName(record.topic, record.partition);
      const bytes = (this.#bytes.get(place) ?? 0) + recordBytes(record);
      if (bytes > mostPartitionBytes && this.#changes > 0) return false;
      this.#bytes.set(place, bytes);
    }
    this.records.push(...records);
    this.#changes += 1;
    return true;
  }
}
