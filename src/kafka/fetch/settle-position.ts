import type { EpochEnd } from '../protocol/fetch.ts';

/** What a partition's leader says of its log. */
export interface LogRange {
  readonly start: number;
  /** One past the newest record. */
  readonly end: number;
  /** Where the last epoch that was read ends; undefined: it is not known which that was. */
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
 * Behind the log's start: from its start. Beyond its end: from where it diverged from what was read, and where
 * that is not known from its end, because everything before may have been read. Never back to its start.
 * @returns undefined if the log has it after all
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
