import { PostriderError } from '../../errors.ts';
import type { Logger } from '../../ops/log.ts';
import type { ClusterClient } from '../cluster/cluster.ts';
import type { IncomingRecord } from '../record.ts';
import { startFollower, type Follower, type FollowerOptions } from './follower.ts';

/** The topic that a table is made of, and how closely it is followed. */
export type TableOptions = Pick<
  FollowerOptions,
  'topic' | 'log' | 'maxWaitMs' | 'freshMs' | 'needsWitnesses' | 'sinceMs'
>;

/** The rules by which records become a table `T`, and what its listeners are told: an entry's name `K`. */
export interface TableRules<T, K> {
  /** Makes an empty table. `former` is the one whose place it is about to take. */
  create(former: T | undefined): T;
  /**
   * Puts the next record of a partition into the table. Returns the entry that it is about, if listeners are to know.
   * @throws PostriderError for a record that cannot be read; that is logged, and the table stays as it was
   */
  apply(table: T, record: IncomingRecord): K | undefined;
  /** Called when all of a table has been read, before anybody sees it. Returns the entries that may be other ones now. */
  complete?(table: T, former: T): Iterable<K>;
}

/**
 * The rules of a table of the newest value of each key. A tombstone removes a key.
 * @param decode undefined: the key is not in the table; if it throws a PostriderError, its previous value stays
 */
export function newestByKey<V>(
  decode: (key: string, value: Buffer, timestampMs: number) => V | undefined,
): TableRules<Map<string, V>, string> {
  return {
    create: () => new Map<string, V>(),
    apply: (table, { key: bytes, value, timestampMs }) => {
      const key = bytes?.toString() ?? '';
      const decoded = value === null ? undefined : decode(key, value, timestampMs);
      if (decoded === undefined) table.delete(key);
      else table.set(key, decoded);
      return key;
    },
    *complete(table, former) {
      yield* former.keys();
      for (const key of table.keys()) if (!former.has(key)) yield key;
    },
  };
}

/**
 * Loads a topic into a table and follows it. Returns at once; while Kafka or the topic is unavailable, it retries with
 * a log line, until it is stopped.
 */
export function followTable<T, K>(
  kafka: ClusterClient,
  options: TableOptions,
  rules: TableRules<T, K>,
): FollowedTable<T, K> {
  return new FollowedTable(kafka, options, rules);
}

/** The content of a topic in memory, for as long as it is followed. */
export class FollowedTable<T, K> {
  /** Resolves when everything that was in the topic at the start is in the table. If it rejects, the table has stopped. */
  readonly loaded: Promise<void>;
  readonly #log: Logger;
  readonly #rules: TableRules<T, K>;
  readonly #follower: Follower;
  readonly #listeners: ((entry: K) => void)[] = [];
  #current: T;
  /** Takes in records. Another one than `current` until all of it is loaded. */
  #next: T;

  constructor(kafka: ClusterClient, options: TableOptions, rules: TableRules<T, K>) {
    this.#log = options.log;
    this.#rules = rules;
    this.#current = rules.create(undefined);
    this.#next = rules.create(this.#current);
    this.#follower = startFollower(kafka, {
      ...options,
      onRecord: (record) => {
        this.#apply(record);
      },
      onRestart: () => {
        this.#next = rules.create(this.#current);
        // It rejects only when it is stopped.
        this.caughtUp().catch(() => undefined);
      },
    });
    this.loaded = this.#load();
    // Whoever waits for it is told. Others look at the table only.
    this.loaded.catch(() => undefined);
  }

  /**
   * Empty until it is loaded. When the topic was cut off or made again, the former table stays here until the new one
   * is complete.
   */
  get current(): T {
    return this.#current;
  }

  /** The same as of a `Follower`, and never while a new table is loaded. */
  isFresh(): boolean {
    return !this.#isLoading && this.#follower.isFresh();
  }

  // See `Follower`.
  get knownAtMs(): number {
    return this.#follower.knownAtMs;
  }

  position(): number {
    return this.#follower.position();
  }

  /** Calls back after each change from now on, and for each entry that a newly loaded table may have changed. */
  onChange(listener: (entry: K) => void): void {
    this.#listeners.push(listener);
  }

  /** Resolves when everything is in the table that was written before this call. Rejects as that of a `Follower` does. */
  caughtUp(): Promise<void> {
    return this.#takeOver(this.#follower.caughtUp());
  }

  stop(): Promise<void> {
    return this.#follower.stop();
  }

  get #isLoading(): boolean {
    return this.#next !== this.#current;
  }

  async #load(): Promise<void> {
    try {
      await this.#takeOver(this.#follower.loaded);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  #apply(record: IncomingRecord): void {
    let entry: K | undefined;
    try {
      entry = this.#rules.apply(this.#next, record);
    } catch (error) {
      if (!(error instanceof PostriderError)) throw error;
      const { topic, partition, offset } = record;
      this.#log.warn(
        { topic, partition, offset },
        `a record cannot be read, and what was known before stays: ${error.message}`,
      );
    }
    if (entry !== undefined && !this.#isLoading) this.#tell([entry]);
  }

  async #takeOver(reached: Promise<void>): Promise<void> {
    await reached;
    if (!this.#isLoading) return;
    // The topic was cut off in the turn in which its end was reached.
    if (this.#follower.knownAtMs === -Infinity) {
      await this.caughtUp();
      return;
    }
    const former = this.#current;
    const changed = this.#rules.complete?.(this.#next, former);
    this.#current = this.#next;
    this.#tell(changed ?? []);
  }

  #tell(entries: Iterable<K>): void {
    for (const entry of entries) for (const listener of this.#listeners) listener(entry);
  }
}
