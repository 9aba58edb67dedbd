import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import type { Change, SyncTarget } from './changes.ts';

/**
 * The records of `audience-members`: under `<audience>/<source>/<trait>:<user>` is the trait's
 * value as JSON, null once it was taken back. Membership belongs to a trait of a source, not to an
 * audience's id.
 */

/**
 * The time at which the sync that sent the record began, by Kafka's clock in epoch milliseconds. A
 * later deletion ends the membership.
 */
export const sinceHeader = 'since';

/**
 * Marks a deleted user who is still in the data, because the data lags behind. No calls are made for the user
 * until the user has left the data.
 */
function deletedMark(deletedMs: number): string {
  return JSON.stringify({ deleted: deletedMs });
}

/** All of a user's records of one audience are in one partition, whatever the trait. */
export function memberPartition(id: string, userId: string, partitions: number): number {
  return partitionOf(`${id}:${userId}`, partitions);
}

/**
 * A marker without content. Behind the last record of earlier syncs, it marks the end of what is to be read.
 */
export function barrierRecord(topic: string, partition: number, id: string): PlacedRecord {
  return { topic, partition, key: id, value: null };
}

export class Memberships {
  readonly #topic: string;
  readonly #prefix: string;
  readonly #prefixBytes: Buffer;
  readonly #formerPrefix: string;
  readonly #formerBytes: Buffer;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param sinceMs when this sync began, by Kafka's clock */
  constructor(topic: string, { id, source, trait }: SyncTarget, sinceMs: number) {
    this.#topic = topic;
    this.#prefix = `${id}/${source}/${trait}:`;
    this.#prefixBytes = Buffer.from(this.#prefix);
    // The key of earlier releases, which had one trait for each audience.
    this.#formerPrefix = `${id}:`;
    this.#formerBytes = Buffer.from(this.#formerPrefix);
    this.#headers = { [sinceHeader]: String(sinceMs) };
  }

  /** The membership after a change. For a user who left, it is removed. */
  record(partition: number, userId: string, value: string | null): PlacedRecord {
    const key = this.#prefix + userId;
    return { topic: this.#topic, partition, key, value, headers: this.#headers };
  }

  /**
   * Replaces a membership of an earlier release. It comes later in the topic, so it counts.
   * @param sinceMs as of that membership: if this sync is cut off, a deletion from before it still ends the
   * membership
   */
  adopted(
    partition: number,
    userId: string,
    value: string,
    sinceMs: number,
  ): readonly PlacedRecord[] {
    const former = { topic: this.#topic, partition, key: this.#formerPrefix + userId, value: null };
    const headers = { [sinceHeader]: String(sinceMs) };
    return [former, { ...this.record(partition, userId, value), headers }];
  }

  /** Undefined for records of other audiences and traits. */
  userOf(key: Buffer): string | undefined {
    return userBehind(this.#prefixBytes, key);
  }

  /** Undefined for a key that no earlier release wrote. */
  formerUserOf(key: Buffer): string | undefined {
    return userBehind(this.#formerBytes, key);
  }
}

function userBehind(prefix: Buffer, key: Buffer): string | undefined {
  const { length } = prefix;
  if (key.length <= length || key.compare(prefix, 0, length, 0, length) !== 0) return undefined;
  return key.toString('utf8', length);
}

/**
 * The value to record instead of the change's value: users whose membership a deletion has ended get no call.
 */
export function rememberedOf({ value, deletedMs }: Change): string | null {
  return deletedMs === undefined || value === null ? value : deletedMark(deletedMs);
}
