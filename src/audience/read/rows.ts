import type { Cell } from './cells.ts';

/** A source that DuckDB can select from, and the meaning of its rows. */
export interface Rows {
  readonly source: string;
  readonly id: Cell;
  /** Missing for an audience. */
  readonly value?: Cell;
}
