import type { EpochEnd } from '../protocol/fetch.ts';

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
