import { ConsumedRecord, type RecordOwner } from './consumed-record.ts';
import type { FetchedBatch } from '../kafkajs/fetched-batch.ts';
import { incomingRecord } from './incoming-record.ts';
import { OffsetTracker } from './offset-tracker.ts';
import type { TopicPartition } from '../record.ts';
import { mustPause, type WindowLimits } from './window.ts';

/**
 * What is in flight and committed of one partition since it was last read from a committed offset.
 * Records hold on to it: when the partition takes a new account, finishing them has no effect.
 */
export class Account implements RecordOwner {
  readonly tracker: OffsetTracker;
  /** What the broker holds, as far as this process knows; undefined: nothing. */
  committed: number | undefined;
  /** The last commit that was sent. */
  attempted: number | undefined;
  /** Set while something waits for records to be finished. */
  onFinished: (() => void) | undefined;

  constructor(position: number, committed: number | undefined) {
    this.tracker = new OffsetTracker(position);
    this.committed = committed;
  }

  finish(slot: number): void {
    if (this.tracker.finish(slot)) this.onFinished?.();
  }
}

/** A partition of this member, from the join that brought it to the one that takes it away. */
export class OwnedPartition implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  readonly limits: WindowLimits;
  account: Account | undefined;
  /** False from a join until its position is known: until then, nothing is accepted or committed. */
  positioned = false;
  /** Paused by the stage. */
  held = false;
  /** Paused by the window. */
  full = false;
  /** What kafkajs was told. */
  paused = false;
  highWatermark: number | undefined;

  constructor({ topic, partition }: TopicPartition, limits: WindowLimits) {
    this.topic = topic;
    this.partition = partition;
    this.limits = limits;
  }

  get position(): number | undefined {
    return this.positioned ? this.account?.tracker.next : undefined;
  }

  /** Takes a batch into account; returns its records, without those that already were. */
  accept(account: Account, batch: FetchedBatch): ConsumedRecord[] {
    const { topic, partition } = this;
    const records: ConsumedRecord[] = [];
    for (const message of batch.messages) {
      const record = incomingRecord(topic, partition, message);
      const sizeBytes = (record.key?.length ?? 0) + (record.value?.length ?? 0);
      const slot = account.tracker.add(record.offset, sizeBytes, record.timestampMs);
      if (slot !== undefined) records.push(new ConsumedRecord(record, account, slot));
    }
    // Past markers and aborted records, which are not among the messages.
    account.tracker.skipTo(batch.lastOffset + 1);
    this.highWatermark = batch.highWatermark;
    return records;
  }

  /** Whether intake must rest now. */
  updateFull(): boolean {
    const { account } = this;
    this.full = account !== undefined && mustPause(this.full, account.tracker, this.limits);
    return this.full;
  }

  /** Records between the finished prefix and the high watermark. */
  get lag(): number {
    const finishedUpTo = this.account?.tracker.finishedUpTo;
    if (finishedUpTo === undefined || this.highWatermark === undefined) return 0;
    return Math.max(0, this.highWatermark - finishedUpTo);
  }
}
