import type { TakenRecord } from '../kafka/consume/taken-record.ts';
import type { TopicPartition } from '../kafka/record.ts';
import { schemaIdOf } from '../schemas/registered-schema.ts';

/** A call that names something that is not known, or that came behind such a call of the same user. */
export interface HeldCall {
  readonly user: string;
}

/**
 * Calls that wait until the configuration is known to be current, in the order in which they came. They share
 * one refresh at a time. Calls that come during a refresh wait for the next one, because what they
 * name may have been created after the refresh began.
 */
export class HeldCalls<T extends HeldCall> {
  #calls: { readonly call: T; readonly round: number }[] = [];
  /** They wait no longer, and until they are taken others of their users wait behind them. The next one last. */
  #settled: T[] = [];
  /** The number of calls of each user that are held. */
  readonly #users = new Map<string, number>();
  /** The number of the last refresh that was begun. */
  #round = 0;
  #looking = false;
  readonly #caughtUp: () => Promise<void>;
  readonly #isKnown: (call: T) => boolean;
  readonly #onSettled: () => void;

  /** @param onSettled called when there may be something to take */
  constructor(caughtUp: () => Promise<void>, isKnown: (call: T) => boolean, onSettled: () => void) {
    this.#caughtUp = caughtUp;
    this.#isKnown = isKnown;
    this.#onSettled = onSettled;
  }

  get size(): number {
    return this.#calls.length + this.#settled.length;
  }

  /** The number of held calls that may be taken. */
  get settled(): number {
    return this.#settled.length;
  }

  /** True if the call would overtake a waiting one of the same user. */
  waitsFor(user: string): boolean {
    return this.#users.has(user);
  }

  hold(call: T): void {
    this.#calls.push({ call, round: this.#round + 1 });
    this.#users.set(call.user, (this.#users.get(call.user) ?? 0) + 1);
  }

  /** The next call, in order per user, of which is known what exists of what it names. */
  take(): T | undefined {
    const call = this.#settled.pop();
    if (call !== undefined) this.#forget(call);
    return call;
  }

  /** Removes and returns the calls for which `isGone` holds. */
  takeOut(isGone: (call: T) => boolean): T[] {
    const gone = [...this.#settled, ...this.#calls.map(({ call }) => call)].filter(isGone);
    this.#settled = this.#settled.filter((call) => !isGone(call));
    this.#calls = this.#calls.filter(({ call }) => !isGone(call));
    for (const call of gone) this.#forget(call);
    return gone;
  }

  /** To be called after `hold`, once for many calls. */
  look(): void {
    if (this.#looking || this.#calls.length === 0) return;
    this.#looking = true;
    this.#round += 1;
    this.#caughtUp().then(
      () => {
        this.#looking = false;
        this.#settle(this.#round);
        this.#onSettled();
        this.look();
      },
      // It rejects only when the configuration stops. Then the role stops too, and these calls are read
      // again.
      () => undefined,
    );
  }

  #settle(round: number): void {
    const held = this.#calls;
    const stillHeld = new Set<string>();
    const settled: T[] = [];
    this.#calls = [];
    for (const entry of held) {
      const { user } = entry.call;
      if (stillHeld.has(user) || (entry.round > round && !this.#isKnown(entry.call))) {
        stillHeld.add(user);
        this.#calls.push(entry);
      } else {
        settled.push(entry.call);
      }
    }
    this.#settled = [...settled.reverse(), ...this.#settled];
  }

  #forget({ user }: T): void {
    const left = (this.#users.get(user) ?? 1) - 1;
    if (left === 0) this.#users.delete(user);
    else this.#users.set(user, left);
  }
}

/**
 * Records that cannot be read yet, and all records behind them in their partitions. Records of a partition
 * stay in order, and its window fills up, so that it is no longer read.
 */
export class StalledRecords {
  readonly #queues = new Map<string, TakenRecord[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Says whether further records of the partition must be added too. */
  has(partition: TopicPartition): boolean {
    return this.#size > 0 && this.#queues.has(keyOf(partition));
  }

  /** Copies the record out of the fetch response, because it may be held for long. */
  add(record: TakenRecord): void {
    record.detach();
    const queue = this.#queues.get(keyOf(record));
    if (queue === undefined) this.#queues.set(keyOf(record), [record]);
    else queue.push(record);
    this.#size += 1;
  }

  /** For each partition that waits for this schema, the record that names it. */
  waitingFor(schemaId: number): readonly TakenRecord[] {
    return [...this.#queues.values()]
      .flatMap((queue) => queue.slice(0, 1))
      .filter(({ value }) => schemaIdOf(value) === schemaId);
  }

  /** Removes and returns all records of the partition, in order. */
  take(partition: TopicPartition): readonly TakenRecord[] {
    const queue = this.#queues.get(keyOf(partition)) ?? [];
    this.#queues.delete(keyOf(partition));
    this.#size -= queue.length;
    return queue;
  }

  takeAll(): readonly TakenRecord[] {
    const records = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return records;
  }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}
