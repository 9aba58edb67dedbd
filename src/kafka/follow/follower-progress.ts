interface Waiter {
  readonly sinceMs: number;
  resolve(): void;
  reject(error: Error): void;
}

/** The word of a broker when asked at that time: the leader of a partition on its log, or another on the leader. */
interface Evidence {
  /** The epoch of the leader. */
  readonly epoch: number;
  readonly askedAtMs: number;
}

/** The knowledge of a partition. */
class PartitionProgress {
  /** Nothing was behind what was read. */
  reached: Evidence | undefined;
  /** It was the leader. */
  confirmed: Evidence | undefined;
  /** Everything that existed then has been read. */
  knownAtMs = -Infinity;
}

/**
 * Tells whether a follower has read as far as its topic went at the last request. Only answers count: each
 * partition's own, that nothing is behind what was read of it, and the cluster's, which partitions exist. If leaders
 * must be confirmed, also those of others, that they still lead. Pure; all times are of the steady clock.
 */
export class FollowerProgress {
  readonly #freshMs: number;
  readonly #mustBeConfirmed: boolean;
  #partitions: PartitionProgress[] = [];
  #refreshedAtMs = -Infinity;
  #waiters: Waiter[] = [];
  #ended: Error | undefined = undefined;

  /** @param freshMs how old the request for the end that was reached may be */
  constructor(freshMs: number, mustBeConfirmed: boolean = false) {
    this.#freshMs = freshMs;
    this.#mustBeConfirmed = mustBeConfirmed;
  }

  /** The cluster was asked at `askedAtMs`, and reported so many partitions. */
  refreshed(partitions: number, askedAtMs: number): void {
    while (this.#partitions.length < partitions) this.#partitions.push(new PartitionProgress());
    this.#refreshedAtMs = askedAtMs;
    this.#settle();
  }

  /** The leader of this epoch answered a request of that time: nothing is behind what was read. */
  reached(partition: number, epoch: number, askedAtMs: number): void {
    const known = this.#of(partition);
    known.reached = later(known.reached, { epoch, askedAtMs });
    this.#conclude(known);
  }

  /** Another broker answered a request of that time: the leader of this epoch leads. */
  confirmed(partition: number, epoch: number, askedAtMs: number): void {
    const known = this.#of(partition);
    known.confirmed = later(known.confirmed, { epoch, askedAtMs });
    this.#conclude(known);
  }

  /** Everything that was known of the topic is void. */
  restart(): void {
    this.#partitions = [];
    this.#refreshedAtMs = -Infinity;
  }

  isFresh(nowMs: number): boolean {
    return nowMs - this.knownAtMs <= this.#freshMs;
  }

  /** Resolves when everything has been read that existed at that time, or rejects as `end` says. */
  caughtUpWith(sinceMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) reject(this.#ended);
      else this.#waiters.push({ sinceMs, resolve, reject });
    });
  }

  /** Nothing more is read. Who waits, or asks later, is told why; the first reason counts. */
  end(why: Error): void {
    this.#ended ??= why;
    for (const waiter of this.#waiters) waiter.reject(this.#ended);
    this.#waiters = [];
  }

  /** True if a caller waits for this partition's next answer. */
  isAwaited(partition: number): boolean {
    const reachedAtMs = this.#partitions[partition]?.reached?.askedAtMs ?? -Infinity;
    return this.#waiters.some(({ sinceMs }) => sinceMs > reachedAtMs);
  }

  /** Everything that existed at this time has been read. */
  get knownAtMs(): number {
    let knownAtMs = this.#partitions.length === 0 ? -Infinity : this.#refreshedAtMs;
    for (const partition of this.#partitions) knownAtMs = Math.min(knownAtMs, partition.knownAtMs);
    return knownAtMs;
  }

  #of(partition: number): PartitionProgress {
    return (this.#partitions[partition] ??= new PartitionProgress());
  }

  #conclude(known: PartitionProgress): void {
    const { reached, confirmed } = known;
    if (reached === undefined) return;
    if (!this.#mustBeConfirmed) known.knownAtMs = reached.askedAtMs;
    // What a former leader had says nothing of what a later one has.
    else if (confirmed?.epoch === reached.epoch)
      known.knownAtMs = Math.min(reached.askedAtMs, confirmed.askedAtMs);
    this.#settle();
  }

  #settle(): void {
    if (this.#waiters.length === 0) return;
    const knownAtMs = this.knownAtMs;
    const met = this.#waiters.filter(({ sinceMs }) => sinceMs <= knownAtMs);
    if (met.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const waiter of met) waiter.resolve();
  }
}

/** The evidence of the later leader, and the last of that one. A witness may be slow, or not know a new leader yet. */
function later(known: Evidence | undefined, told: Evidence): Evidence {
  if (known === undefined || told.epoch > known.epoch) return told;
  return told.epoch === known.epoch && told.askedAtMs > known.askedAtMs ? told : known;
}
