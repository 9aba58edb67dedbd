import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

export interface Paging {
  readonly cursor: string | undefined;
  /** From 0 on. */
  readonly page: number;
  readonly forward: (next: string) => void;
  readonly back: () => void;
}

/** Cursors go forward only: those of the pages before are kept. @param question another one begins anew */
export function usePaging(question: string): Paging {
  const [state, setState] = useState<{ question: string; cursors: readonly string[] }>({
    question,
    cursors: [],
  });
  const cursors = state.question === question ? state.cursors : [];
  return {
    cursor: cursors.at(-1),
    page: cursors.length,
    forward: (next) => {
      setState({ question, cursors: [...cursors, next] });
      scrollTo({ top: 0 });
    },
    back: () => {
      setState({ question, cursors: cursors.slice(0, -1) });
      scrollTo({ top: 0 });
    },
  };
}

/** Nothing where everything is on one page. */
export function Pager({
  paging,
  next,
  label,
  position,
}: {
  readonly paging: Paging;
  readonly next: string | undefined;
  readonly label: string;
  /** `1–50 of 5,000` */
  readonly position?: string;
}): JSX.Element | null {
  if (next === undefined && paging.page === 0) return null;
  return (
    <nav class="pager" aria-label={label}>
      <span class="quiet" aria-live="polite">
        {position ?? `Page ${paging.page + 1}`}
      </span>
      <button type="button" onClick={paging.back} disabled={paging.page === 0}>
        Previous
      </button>
      <button
        type="button"
        disabled={next === undefined}
        onClick={() => {
          if (next !== undefined) paging.forward(next);
        }}
      >
        Next
      </button>
    </nav>
  );
}
