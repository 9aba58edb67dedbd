import type { KafkaErrorName } from '../protocol/errors.ts';
import type { EpochEnd, FetchedPartition } from '../protocol/fetch.ts';

/** The meaning of one partition's part of an answer. */
export type PartVerdict =
  | { readonly kind: 'records' }
  /** Everything that a reader of committed records may see has been read. */
  | { readonly kind: 'end' }
  /** Nothing came, though the log goes on. */
  | { readonly kind: 'nothing' }
  /** The leader sends us to a replica in our zone. */
  | { readonly kind: 'replica'; readonly nodeId: number }
  /** Somebody else leads it, or nobody does at this moment. */
  | { readonly kind: 'elsewhere'; readonly error: KafkaErrorName }
  /** The log was cut off and written anew since it was read: it goes on at the end of an epoch. */
  | { readonly kind: 'diverged'; readonly at: EpochEnd }
  | { readonly kind: 'out-of-range' }
  /** This principal has no right to it. */
  | { readonly kind: 'refused'; readonly error: KafkaErrorName }
  /** The broker cannot read it just now. */
  | { readonly kind: 'failed'; readonly error: KafkaErrorName };

const elsewhere: ReadonlySet<KafkaErrorName> = new Set<KafkaErrorName>([
  'NOT_LEADER_FOR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'REPLICA_NOT_AVAILABLE',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'UNKNOWN_TOPIC_ID',
  'INCONSISTENT_TOPIC_ID',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'OFFSET_NOT_AVAILABLE',
  'KAFKA_STORAGE_ERROR',
]);

/**
 * Judges by this partition's own part only.
 * @param offset where the fetch began
 */
export function judgePart(part: FetchedPartition, offset: number): PartVerdict {
  const { error } = part;
  if (error === 'OFFSET_OUT_OF_RANGE') return { kind: 'out-of-range' };
  if (error === 'TOPIC_AUTHORIZATION_FAILED') return { kind: 'refused', error };
  if (elsewhere.has(error)) return { kind: 'elsewhere', error };
  if (error !== 'NONE') return { kind: 'failed', error };
  if (part.diverging !== undefined) return { kind: 'diverged', at: part.diverging };
  if (part.records.length > 0) return { kind: 'records' };
  if (part.preferredReplica >= 0) return { kind: 'replica', nodeId: part.preferredReplica };
  return { kind: offset >= part.lastStableOffset ? 'end' : 'nothing' };
}
