import { ChangeBatch, type OutgoingChange } from './change-batch.ts';

export interface EmitOptions {
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
