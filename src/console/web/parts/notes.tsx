import type { ComponentChildren, JSX } from 'preact';
import type { Problem } from '../api.ts';
import { clockTime } from '../format.ts';
import { linkId } from '../navigation.ts';
import type { Polled } from '../polled.ts';
import { filled, t } from '../texts/texts.ts';
import { Glyph } from './glyph.tsx';

/** There is nothing yet, and when there would be something. */
export function Nothing({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="nothing">
      <p class="nothing-title">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

export function ProblemNote({ problem }: { readonly problem: Problem }): JSX.Element {
  return (
    <div class="note note-bad" role="alert">
      <Glyph shape="cross" />
      <p>
        <strong>{problem.message}</strong> {problem.advice}
        {problem.status === 401 && linkId === undefined ? (
          <>
            {' '}
            <a href={`/login?next=${encodeURIComponent(location.pathname + location.search)}`}>
              {t.logIn}
            </a>
          </>
        ) : null}
      </p>
    </div>
  );
}

/**
 * An answer once it is there; until then, that it is loading or why it failed. A later failure stands
 * above what is known from before.
 */
export function Shown<Answer>({
  of,
  children,
}: {
  readonly of: Polled<Answer>;
  readonly children: (answer: Answer) => ComponentChildren;
}): JSX.Element {
  const { answer, problem, atMs, isOld } = of;
  if (answer === undefined)
    return problem === undefined ? (
      <p class="loading" role="status">
        {t.loading}
      </p>
    ) : (
      <ProblemNote problem={problem} />
    );
  return (
    <>
      {problem === undefined ? null : (
        <>
          <ProblemNote problem={problem} />
          <p class="quiet">{filled(t.shownFrom, { time: clockTime(atMs) })}</p>
        </>
      )}
      <div class={isOld ? 'shown shown-old' : 'shown'} aria-busy={isOld}>
        {children(answer)}
      </div>
    </>
  );
}
