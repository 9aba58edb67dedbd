import type { AbortedTransaction } from '../protocol/fetch.ts';
import { FetchedRecords, type Wanted } from '../protocol/fetched-records.ts';
import type { IncomingRecord, TopicPartition } from '../record.ts';

/** What a fetch brought of a partition. Its fields are those of the current record. */
export class PartitionRecords extends FetchedRecords implements IncomingRecord {
  readonly topic: string;
  readonly partition: number;

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
  }

  /** The current record as an object. */
  current(): IncomingRecord {
    const { topic, partition, offset, timestampMs, key, value, headers, flaw } = this;
    return { topic, partition, offset, timestampMs, key, value, headers, flaw };
  }
}
