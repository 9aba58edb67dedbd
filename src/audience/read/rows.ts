import type { Cell } from './cells.ts';

/** Something that DuckDB can select from, and what its rows say. */
export interface Rows {
  readonly source: string;
  readonly id: Cell;
  /** Missing for an audience. */
  readonly value?: Cell;
}
