import type { AttemptRow } from '../../../api/answers/destinations.ts';

/** A row of the table: a line, or several that were put off one after the other for the same reason. */
export interface FoldedRow {
  /** The newest. */
  readonly line: AttemptRow;
  /** The number of lines that it stands for. */
  readonly lines: number;
  /** The key of its oldest line, so that it stays the same row while newer ones come. */
  readonly key: string;
}

/**
 * While a breaker is open, each event that comes is put off: many lines that say the same.
 * @param lines the newest first
 */
export function folded(lines: readonly AttemptRow[]): readonly FoldedRow[] {
  const rows: FoldedRow[] = [];
  for (const line of lines) {
    const last = rows.at(-1);
    const isSame = last !== undefined && isPutOff(line) && putOffBy(last.line) === line.cause;
    if (isSame) rows[rows.length - 1] = { line: last.line, lines: last.lines + 1, key: line.seq };
    else rows.push({ line, lines: 1, key: line.seq });
  }
  return rows;
}

type PutOff = AttemptRow & { readonly kind: 'deferred' | 'bundle-deferred' };

function isPutOff(line: AttemptRow): line is PutOff & { readonly cause: string } {
  return (line.kind === 'deferred' || line.kind === 'bundle-deferred') && line.cause !== undefined;
}

function putOffBy(line: AttemptRow): string | undefined {
  return isPutOff(line) ? line.cause : undefined;
}
