import type { AbortedTransaction } from '../protocol/fetch.ts';
import { FetchedRecords, type Wanted } from '../protocol/fetched-records.ts';
import type { IncomingRecord, TopicPartition } from '../record.ts';

/** The records that a fetch brought of a partition. Its fields are those of the current record. */
export class PartitionRecords extends FetchedRecords implements IncomingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly #fromOffset: number;

  constructor(
    { topic, partition }: TopicPartition,
    bytes: Buffer,
    fromOffset: number,
    aborted: readonly AbortedTransaction[],
    wanted?: Wanted,
  ) {
    super(bytes, fromOffset, aborted, wanted);
    this.topic = topic;
    this.partition = partition;
    this.#fromOffset = fromOffset;
  }

  /** Once `next` has returned false: why nothing more of the partition can be read now; undefined: it can. */
  get obstacle(): Error | undefined {
    // Brokers send the first batch whole, or nothing.
    return this.problem ?? (this.position === this.#fromOffset ? endless : undefined);
  }

  /** The current record as an object. */
  current(): IncomingRecord {
    const { topic, partition, offset, timestampMs, key, value, headers, flaw } = this;
    return { topic, partition, offset, timestampMs, key, value, headers, flaw };
  }
}

const endless = new Error('a batch states a length beyond what the broker has sent');
