import { recordBytes } from '../kafka/record.ts';
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

interface EmitOptions {
  readonly changes: AsyncIterable<readonly OutgoingChange[]>;
  /** Bound on the changes in one batch. */
  readonly mostChanges: number;
  /** Commits a batch of one partition. Called again for the same partition only after it has resolved. */
  readonly commit: (partition: number, batch: ChangeBatch) => Promise<void>;
}

/** Commits of different partitions at a time: while one waits for Kafka, others are encoded. */
const mostCommits = 4;
/** Bound on changes in all unfinished batches, however many partitions there are. */
const mostWaiting = 60_000;

/**
 * Sorts changes into batches of one partition each and commits them. After an error nothing more is begun,
 * and it rejects once everything that was begun has ended.
 */
export async function emit({ changes, mostChanges, commit }: EmitOptions): Promise<void> {
  const commits = new Commits(commit);
  const filling = new Map<number, ChangeBatch>();
  let waiting = 0;
  const submit = async (partition: number, batch: ChangeBatch): Promise<void> => {
    filling.delete(partition);
    waiting -= batch.changes;
    await commits.begin(partition, batch);
  };
  try {
    for await (const some of changes) {
      for (const change of some) {
        const { partition } = change;
        const batch = filling.get(partition) ?? new ChangeBatch(mostChanges);
        filling.set(partition, batch);
        if (!batch.add(change)) {
          await submit(partition, batch);
          const next = new ChangeBatch(mostChanges);
          next.add(change);
          filling.set(partition, next);
        }
        waiting += 1;
        if (waiting === mostWaiting) await submit(...largest(filling));
      }
    }
    for (const [partition, batch] of filling) await submit(partition, batch);
  } finally {
    await commits.ended();
  }
  commits.failIfFailed();
}

function largest(batches: ReadonlyMap<number, ChangeBatch>): [number, ChangeBatch] {
  return [...batches].reduce((a, b) => (b[1].changes > a[1].changes ? b : a));
}

/** The commits in progress: one batch of a partition at a time. */
class Commits {
  readonly #commit: EmitOptions['commit'];
  readonly #running = new Map<number, Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(commit: EmitOptions['commit']) {
    this.#commit = commit;
  }

  /** Resolves when the commit has begun. */
  async begin(partition: number, batch: ChangeBatch): Promise<void> {
    await this.#running.get(partition);
    while (this.#running.size >= mostCommits) await Promise.race(this.#running.values());
    this.failIfFailed();
    const run = this.#commit(partition, batch)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(partition));
    this.#running.set(partition, run);
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  failIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
