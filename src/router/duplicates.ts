import type { IncomingRecord, TopicPartition } from '../kafka/record.ts';
import { CallHash } from './call-hash.ts';
import type { ReadCall } from './read-call.ts';
import { RecentIds } from './recent-ids.ts';

/** A call that is not a duplicate. Its end must be reported. */
export interface Admitted<T> {
  /** All its records are acknowledged. Returns the calls that waited and are duplicates now. */
  acknowledge(): readonly T[];
  /** The call failed. Returns the calls that waited, to be judged again in this order. */
  forget(): readonly T[];
}

export interface DuplicatesOptions {
  /** By append time; 0 turns duplicate detection off. */
  readonly windowMs: number;
  /** For one partition; a power of two. */
  readonly mostIds: number;
  /** An id was dropped before its time. */
  readonly onPushedOut: () => void;
}

/**
 * Recognizes a call that was sent again, which every client of this protocol does when it loses a response.
 * What makes two calls the same, `CallHash` says. Only a call at a larger offset than the routed one is a duplicate: a record
 * that is read again after a rebalance is not a duplicate of itself.
 *
 * A call whose original is still on its way waits for how that ends. Routing it at once would let every
 * duplicate through that is read together with its original, and dropping it could lose both.
 */
export class Duplicates<T> {
  readonly #options: DuplicatesOptions;
  /** By topic, then by partition. */
  readonly #partitions = new Map<string, PartitionCalls<T>[]>();
  readonly #hash = new CallHash();

  constructor(options: DuplicatesOptions) {
    this.#options = options;
  }

  /** An `Admitted` whose end must be reported; undefined for a call that cannot be recognized later. */
  judge(
    record: IncomingRecord,
    sourceId: string,
    { call, writeKey }: Pick<ReadCall, 'call' | 'writeKey'>,
    waiter: T,
  ): Admitted<T> | 'duplicate' | 'waiting' | undefined {
    const { windowMs, mostIds, onPushedOut } = this.#options;
    // An id that was derived from the record's place belongs to no other record.
    if (windowMs === 0 || call.fields['messageId'] !== call.messageId) return undefined;
    const calls = this.#callsOf(record, mostIds);
    const { ids } = calls;
    const { offset, timestampMs } = record;
    ids.expire(timestampMs - windowMs);
    this.#hash.of(sourceId, writeKey, call);
    const seen = ids.find(this.#hash);
    if (seen !== undefined && seen.offset < offset && seen.timeMs >= timestampMs - windowMs) {
      if (seen.acknowledged) return 'duplicate';
      calls.wait(seen.ticket, waiter);
      return 'waiting';
    }
    if (ids.isFull) onPushedOut();
    return new Ticket(calls, ids.add(this.#hash, offset, timestampMs));
  }

  /**
   * Drops a partition that another member reads next. Returns the calls that wait in it; the end of what they
   * wait for is not reported to them.
   */
  drop({ topic, partition }: TopicPartition): readonly T[] {
    const partitions = this.#partitions.get(topic);
    const waiters = partitions?.[partition]?.takeWaiters() ?? [];
    if (partitions !== undefined) Reflect.deleteProperty(partitions, partition);
    return waiters;
  }

  /** Remembered now. */
  get ids(): number {
    return this.#sum(({ ids }) => ids.size);
  }

  get bytes(): number {
    return this.#sum(({ ids }) => ids.bytes);
  }

  #sum(of: (calls: PartitionCalls<T>) => number): number {
    let sum = 0;
    for (const calls of this.#partitions.values()) {
      for (const each of Object.values(calls)) sum += of(each);
    }
    return sum;
  }

  #callsOf({ topic, partition }: TopicPartition, mostIds: number): PartitionCalls<T> {
    let partitions = this.#partitions.get(topic);
    if (partitions === undefined) {
      partitions = [];
      this.#partitions.set(topic, partitions);
    }
    return (partitions[partition] ??= new PartitionCalls(mostIds));
  }
}

class PartitionCalls<T> {
  readonly ids: RecentIds;
  /** By the ticket that they wait for. */
  readonly #waiting = new Map<number, T[]>();

  constructor(mostIds: number) {
    this.ids = new RecentIds(mostIds);
  }

  wait(ticket: number, waiter: T): void {
    const waiting = this.#waiting.get(ticket);
    if (waiting === undefined) this.#waiting.set(ticket, [waiter]);
    else waiting.push(waiter);
  }

  waitersOf(ticket: number): readonly T[] {
    if (this.#waiting.size === 0) return [];
    const waiting = this.#waiting.get(ticket) ?? [];
    this.#waiting.delete(ticket);
    return waiting;
  }

  takeWaiters(): readonly T[] {
    const waiters = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return waiters;
  }
}

class Ticket<T> implements Admitted<T> {
  readonly #calls: PartitionCalls<T>;
  readonly #ticket: number;

  constructor(calls: PartitionCalls<T>, ticket: number) {
    this.#calls = calls;
    this.#ticket = ticket;
  }

  acknowledge(): readonly T[] {
    this.#calls.ids.acknowledge(this.#ticket);
    return this.#calls.waitersOf(this.#ticket);
  }

  forget(): readonly T[] {
    this.#calls.ids.forget(this.#ticket);
    return this.#calls.waitersOf(this.#ticket);
  }
}
