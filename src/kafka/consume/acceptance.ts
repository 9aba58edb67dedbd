/**
 * Which of the batches that kafkajs hands over may move a partition's position, and where a
 * partition is read on after a join. Pure: positions are offsets to read next.
 *
 * kafkajs keeps a position of its own, which a batch moves when it is resolved. It can hand over a
 * batch that it fetched before a rebalance or a seek; resolving that one would move the new position
 * past records that nobody read.
 */

export interface FetchedBatch {
  /** Ours; undefined while it is being looked up after a join. */
  readonly position: number | undefined;
  /** Where kafkajs's fetch began. */
  readonly fetchedOffset: number;
  /** A seek of ours is not yet carried out, so the batch is older than it. */
  readonly seekPending: boolean;
}

/**
 * - `accept`
 * - `ignore`: a seek is pending or will come
 * - `reposition`: kafkajs reads from somewhere else than we think
 */
export type Verdict = 'accept' | 'ignore' | 'reposition';

export function judgeBatch(batch: FetchedBatch): Verdict {
  if (batch.position === undefined || batch.seekPending) return 'ignore';
  return batch.fetchedOffset === batch.position ? 'accept' : 'reposition';
}

/** What this process knows about its commits of a partition. */
export interface OwnCommits {
  /** Acknowledged, or found at the last join; undefined: none. */
  readonly committed: number | undefined;
  /** The last one sent; it may have arrived although its answer did not. */
  readonly attempted: number | undefined;
}

/** What the broker answers where nothing is committed. */
export const noCommit = -1;

/**
 * Whether a tracker may go on after a join: only if nobody else moved the committed offset, which
 * otherwise wins. kafkajs commits -2 where it resets a position that is out of range, and the broker
 * forgets the commits of a topic that is deleted.
 */
export function mayKeepTracker(own: OwnCommits, onBroker: number): boolean {
  const { committed, attempted } = own;
  if (onBroker === noCommit) return committed === undefined;
  if (onBroker < 0) return false;
  const lowest = committed ?? attempted;
  const highest = attempted ?? committed;
  if (lowest === undefined || highest === undefined) return false;
  return lowest <= onBroker && onBroker <= highest;
}
