/** The attempts of a lane in the last minutes. */
export interface Figures {
  readonly deliveredPerMinute: number;
  readonly failedPerMinute: number;
  /** Over all attempts; undefined without one. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

const windowMs = 60_000;
/** Including the current one. */
const windows = 3;
/** Buckets for each octave, which makes a percentile accurate to a fifth. */
const perOctave = 4;
/** Covers up to 65 s, far more than an attempt may take. */
const buckets = 16 * perOctave;
/** Least time that a rate is computed over, for a lane that has just begun. */
const leastMs = 10_000;

/**
 * Counts attempts by how long they took, minute by minute. Thousands of lanes have such counts, so they are
 * small.
 */
export class LaneFigures {
  /** The counts by window and bucket; allocated at the first attempt. */
  #took: Uint32Array | undefined;
  readonly #delivered = new Uint32Array(windows);
  readonly #failed = new Uint32Array(windows);
  #window = 0;
  readonly #startedMs: number;
  #windowSinceMs: number;

  /** Times are of the steady clock. */
  constructor(nowMs: number) {
    this.#startedMs = nowMs;
    this.#windowSinceMs = nowMs;
  }

  ended(isDelivery: boolean, tookMs: number): void {
    addOne(isDelivery ? this.#delivered : this.#failed, this.#window);
    this.#took ??= new Uint32Array(windows * buckets);
    addOne(this.#took, this.#window * buckets + bucketOf(tookMs));
  }

  tick(nowMs: number): void {
    while (nowMs - this.#windowSinceMs >= windowMs) {
      this.#window = (this.#window + 1) % windows;
      this.#windowSinceMs += windowMs;
      this.#delivered[this.#window] = 0;
      this.#failed[this.#window] = 0;
      this.#took?.fill(0, this.#window * buckets, (this.#window + 1) * buckets);
    }
  }

  at(nowMs: number): Figures {
    this.tick(nowMs);
    const sinceMs = Math.max(this.#startedMs, this.#windowSinceMs - (windows - 1) * windowMs);
    const minutes = Math.max(leastMs, nowMs - sinceMs) / 60_000;
    return {
      deliveredPerMinute: sum(this.#delivered) / minutes,
      failedPerMinute: sum(this.#failed) / minutes,
      ...this.#percentiles(),
    };
  }

  #percentiles(): Pick<Figures, 'p50Ms' | 'p99Ms'> {
    const attempts = sum(this.#delivered) + sum(this.#failed);
    let p50Ms: number | undefined;
    let p99Ms: number | undefined;
    if (attempts === 0 || this.#took === undefined) return { p50Ms, p99Ms };
    let seen = 0;
    for (let bucket = 0; bucket < buckets && p99Ms === undefined; bucket += 1) {
      for (let window = 0; window < windows; window += 1)
        seen += this.#took[window * buckets + bucket] ?? 0;
      if (p50Ms === undefined && seen >= attempts / 2) p50Ms = middleOf(bucket);
      if (seen >= 0.99 * attempts) p99Ms = middleOf(bucket);
    }
    return { p50Ms, p99Ms };
  }
}

function bucketOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(buckets - 1, Math.floor(Math.log2(ms) * perOctave));
}

/** The middle of a bucket, on a scale of octaves. */
function middleOf(bucket: number): number {
  return Math.round(2 ** ((bucket + 0.5) / perOctave));
}

function addOne(counts: Uint32Array, index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}

function sum(counts: Uint32Array): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
