import {
  epochAt,
  lastOffsetDeltaAt,
  lengthAt,
  lengthEnd,
  magicAt,
} from '../protocol/batch-header.ts';
import { readInt64 } from '../protocol/byte-reader.ts';
import type { FetchedPartition } from '../protocol/fetch.ts';

const lastOffsetDeltaEnd = lastOffsetDeltaAt + 4;

/** A reader's knowledge of a partition when an answer comes. */
export interface Known {
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
export interface Reading extends Omit<Known, 'highWatermark'> {
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
export function contradictionIn(records: Buffer, known: Known): string | undefined {
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
