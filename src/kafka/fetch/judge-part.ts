import {
  epochAt,
  lastOffsetDeltaAt,
  lengthAt,
  lengthEnd,
  magicAt,
} from '../protocol/batch-header.ts';
import { readInt64 } from '../protocol/fields.ts';
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

/** A partition's log, as its leader reports it. */
export interface LogRange {
  readonly start: number;
  /** One past the newest record. */
  readonly end: number;
  /** The end of the last epoch that was read; undefined: that epoch is not known. */
  readonly epochEnd: EpochEnd | undefined;
}

/**
 * A position that the log does not have is given up for another one.
 * - `removed`: retention, or somebody, has removed what comes next
 * - `cut-off`: the log ends before, or went another way: an unclean election, or a topic that was restored
 */
export interface Move {
  readonly kind: 'removed' | 'cut-off';
  readonly from: number;
  readonly to: number;
}

/**
 * Decides where to continue. Before the log's start: at its start. Beyond its end: where the log diverged
 * from what was read; if that is not known, at its end, because everything before may have been read. Never
 * back at its start.
 * @returns undefined if the log has the offset after all
 */
export function settlePosition(
  offset: number,
  { start, end, epochEnd }: LogRange,
): Move | undefined {
  if (offset < start) return { kind: 'removed', from: offset, to: start };
  const known = epochEnd !== undefined && epochEnd.endOffset >= 0 ? epochEnd.endOffset : end;
  const to = Math.max(start, Math.min(offset, known, end));
  return to === offset ? undefined : { kind: 'cut-off', from: offset, to };
}

const lastOffsetDeltaEnd = lastOffsetDeltaAt + 4;

/** A reader's knowledge of a partition when an answer comes. */
export interface KnownLog {
  /** That was asked for. */
  readonly offset: number;
  /** The epoch of the last record that was read; -1: unknown. */
  readonly lastEpoch: number;
  /** The epoch of the leader that was asked; -1: unknown. */
  readonly leaderEpoch: number;
  /** The high watermark that the answer says. */
  readonly highWatermark: number;
}

/** A reader's place in a partition. */
export interface Reading extends Omit<KnownLog, 'highWatermark'> {
  /** The fault of the last answer. */
  contradiction: string | undefined;
}

/** The fault of an answer for the first time; one that comes twice in the same way was not made on the way. */
export function newContradiction(
  reading: Reading,
  { records, highWatermark }: Pick<FetchedPartition, 'records' | 'highWatermark'>,
): string | undefined {
  const { offset, lastEpoch, leaderEpoch, contradiction: former } = reading;
  const known = { offset, lastEpoch, leaderEpoch, highWatermark };
  reading.contradiction = contradictionIn(records, known);
  return reading.contradiction === former ? undefined : reading.contradiction;
}

/**
 * The contradiction in the batches that an answer brought; undefined: none. Kafka's checksum leaves out
 * the fields that say where a batch lies and which leader wrote it. With a bit of them changed on the way, a
 * reader would leave out all records before the place where it now believes to be.
 *
 * A sentence may be wrong: brokers read the high watermark before the records, and it may move in between. So
 * the answer is asked for again, and what comes twice is taken as it is.
 */
export function contradictionIn(records: Buffer, known: KnownLog): string | undefined {
  let endedAt = known.offset - 1;
  let { lastEpoch } = known;
  let isFirst = true;
  for (let at = 0; at + lastOffsetDeltaEnd <= records.length;) {
    const length = records.readInt32BE(at + lengthAt);
    // What is cut off, broken or old is not judged here.
    if (length <= 0 || at + lengthEnd + length > records.length) return undefined;
    if (records.readInt8(at + magicAt) !== 2) return undefined;
    const first = readInt64(records, at);
    const last = first + records.readInt32BE(at + lastOffsetDeltaAt);
    const epoch = records.readInt32BE(at + epochAt);
    const { highWatermark, leaderEpoch } = known;
    let problem: string | undefined;
    if ((isFirst ? last : first) <= endedAt) problem = `comes after ${endedAt}`;
    else if (last >= highWatermark) problem = 'reaches beyond the high watermark';
    else if (epoch < lastEpoch) problem = `comes after epoch ${lastEpoch}`;
    else if (leaderEpoch >= 0 && epoch > leaderEpoch)
      problem = `comes from the leader of epoch ${leaderEpoch}`;
    if (problem !== undefined)
      return `the batch of offsets ${first} to ${last}, epoch ${epoch}, ${problem}`;
    endedAt = last;
    lastEpoch = epoch;
    isFirst = false;
    at += lengthEnd + length;
  }
  return undefined;
}
