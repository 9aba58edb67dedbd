import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { cursorsHere, turnTo, usePlace } from '../navigation.ts';
import { filled, t } from '../texts/texts.ts';

export interface Paging {
  readonly cursor: string | undefined;
  /** From 0 on. */
  readonly page: number;
  readonly forward: (next: string) => void;
  readonly back: () => void;
}

/**
 * Cursors go forward only: those of the pages before are kept. The address has the present one; a screen has one list with
 * pages.
 * @param question another one begins anew
 */
export function usePaging(question: string): Paging {
  const { query } = usePlace();
  const asked = useRef(question);
  const isOther = asked.current !== question;
  useEffect(() => {
    if (!isOther) return;
    asked.current = question;
    turnTo([], 0);
  }, [question]);
  const cursors = isOther ? [] : cursorsHere();
  const said = Number(query.get('page'));
  const page = cursors.length > 0 && said > cursors.length ? said - 1 : cursors.length;
  const turn = (to: readonly string[], toPage: number): void => {
    turnTo(to, toPage);
    scrollTo({ top: 0 });
  };
  return {
    cursor: cursors.at(-1),
    page,
    forward: (next) => {
      turn([...cursors, next], page + 1);
    },
    back: () => {
      turn(cursors.slice(0, -1), cursors.length > 1 ? page - 1 : 0);
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
        {position ?? filled(t.page, { n: paging.page + 1 })}
      </span>
      <button type="button" onClick={paging.back} disabled={paging.page === 0}>
        {t.previous}
      </button>
      <button
        type="button"
        disabled={next === undefined}
        onClick={() => {
          if (next !== undefined) paging.forward(next);
        }}
      >
        {t.next}
      </button>
    </nav>
  );
}
