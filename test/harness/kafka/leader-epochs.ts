import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type { EpochEnd, FetchPosition } from '../../../src/kafka/protocol/fetch.ts';

/** A partition's log, as its leader has it. */
export interface LedLog {
  /** Of the leader. */
  readonly epoch: number;
  readonly start: number;
  readonly end: number;
  /** Where the records of each leader begin, the oldest first. */
  readonly epochs: readonly { readonly epoch: number; readonly start: number }[];
}

/** Where the records of an epoch end: Kafka's LeaderEpochFileCache.endOffsetFor. */
export function epochEndOf(log: LedLog, epoch: number): EpochEnd {
  if (epoch === log.epoch) return { epoch, endOffset: log.end };
  const next = log.epochs.find((each) => each.epoch > epoch);
  if (next === undefined) return { epoch: -1, endOffset: -1 };
  const known = log.epochs.findLast((each) => each.epoch <= epoch);
  return { epoch: known?.epoch ?? epoch, endOffset: next.start };
}

/**
 * Why nothing can be read at a position: an error, or where the log has diverged from what the reader has read;
 * undefined: it can.
 */
export function judgePosition(
  log: LedLog,
  { leaderEpoch, lastEpoch, offset }: FetchPosition,
): KafkaErrorName | EpochEnd | undefined {
  if (leaderEpoch >= 0 && leaderEpoch < log.epoch) return 'FENCED_LEADER_EPOCH';
  if (leaderEpoch > log.epoch) return 'UNKNOWN_LEADER_EPOCH';
  if (lastEpoch >= 0) {
    const diverging = epochEndOf(log, lastEpoch);
    if (diverging.endOffset < 0) return 'OFFSET_OUT_OF_RANGE';
    if (diverging.epoch < lastEpoch || diverging.endOffset < offset) return diverging;
  }
  return offset < log.start || offset > log.end ? 'OFFSET_OUT_OF_RANGE' : undefined;
}
