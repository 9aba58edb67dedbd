import type { ComponentChildren, JSX } from 'preact';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Decides its alignment, and its room on a card. */
  readonly kind?: 'number' | 'name' | 'text' | 'wide' | 'lead' | 'trend-cell';
}

/**
 * Scrolls in a box of its own where it is too wide; with `asCards`, each row becomes a card on narrow screens
 * instead.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  classOf,
  asCards = false,
}: {
  /** Read aloud, not shown. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly classOf?: (row: Row) => string;
  readonly asCards?: boolean;
}): JSX.Element {
  return (
    <div class="table-box" role="group" aria-label={caption} tabIndex={0}>
      <table class={asCards ? 'cards' : ''} role="table">
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, kind = 'text' }) => (
              <th key={title} scope="col" role="columnheader" class={kind}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" class={classOf?.(row) ?? ''}>
              {columns.map(({ title, cell, kind = 'text' }) =>
                kind === 'name' ? (
                  <th key={title} scope="row" role="rowheader" class={kind}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={title} role="cell" class={kind} data-title={title}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
