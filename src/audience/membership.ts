import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import type { Change, SyncTarget } from './sync-target.ts';

/**
 * How `audience-members` holds what was told: under `<audience>/<source>/<trait>:<user>` the trait's value as
 * JSON, null once it was taken back. Membership belongs to a trait of a source, not to an audience's id.
 */

/** When the sync began that told it, by Kafka's clock in epoch milliseconds: a later deletion ends it. */
export const sinceHeader = 'since';

/** Who was deleted and is in the data still, because that lags behind: not told of until they were gone from it. */
function deletedMark(deletedMs: number): string {
  return JSON.stringify({ deleted: deletedMs });
}

/** All of a user's records of one audience are in one partition, whatever the trait. */
export function memberPartition(id: string, userId: string, partitions: number): number {
  return partitionOf(`${id}:${userId}`, partitions);
}

/** A record that says nothing. Behind the last one of earlier syncs it marks the end of what is to be read. */
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

  /** @param sinceMs of this sync, by Kafka's clock */
  constructor(topic: string, { id, source, trait }: SyncTarget, sinceMs: number) {
    this.#topic = topic;
    this.#prefix = `${id}/${source}/${trait}:`;
    this.#prefixBytes = Buffer.from(this.#prefix);
    // As versions wrote it that knew one trait for each audience.
    this.#formerPrefix = `${id}:`;
    this.#formerBytes = Buffer.from(this.#formerPrefix);
    this.#headers = { [sinceHeader]: String(sinceMs) };
  }

  /** What is remembered of a change; a user who left is forgotten. */
  record(partition: number, userId: string, value: string | null): PlacedRecord {
    const key = this.#prefix + userId;
    return { topic: this.#topic, partition, key, value, headers: this.#headers };
  }

  /** Takes the place of one that a former version wrote, and stands behind its end: the last one counts. */
  adopted(partition: number, userId: string, value: string): readonly PlacedRecord[] {
    const former = { topic: this.#topic, partition, key: this.#formerPrefix + userId, value: null };
    return [former, this.record(partition, userId, value)];
  }

  /** Undefined for records of other audiences and traits. */
  userOf(key: Buffer): string | undefined {
    return userBehind(this.#prefixBytes, key);
  }

  /** Undefined for a key that no former version wrote. */
  formerUserOf(key: Buffer): string | undefined {
    return userBehind(this.#formerBytes, key);
  }
}

function userBehind(prefix: Buffer, key: Buffer): string | undefined {
  const { length } = prefix;
  if (key.length <= length || key.compare(prefix, 0, length, 0, length) !== 0) return undefined;
  return key.toString('utf8', length);
}

/** What is to be remembered instead of the change's value: those whom a deletion has ended get no call. */
export function rememberedOf({ value, deletedMs }: Change): string | null {
  return deletedMs === undefined || value === null ? value : deletedMark(deletedMs);
}
