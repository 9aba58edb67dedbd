import type { ComponentChildren, JSX } from 'preact';
import type { Freshness } from '../../api/answers/deployment.ts';
import type { Problem } from '../api.ts';
import { clockTime } from '../format.ts';
import { linkId } from '../navigation.ts';
import { usePolled, type Polled } from '../polled.ts';
import { Clock } from './data.tsx';
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
              Log in
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
        Loading…
      </p>
    ) : (
      <ProblemNote problem={problem} />
    );
  return (
    <>
      {problem === undefined ? null : (
        <>
          <ProblemNote problem={problem} />
          <p class="quiet">What you see is from {clockTime(atMs)}.</p>
        </>
      )}
      <div class={isOld ? 'shown shown-old' : 'shown'} aria-busy={isOld}>
        {children(answer)}
      </div>
    </>
  );
}

const checkMs = 2_000;

/** Above each screen: why what it shows may not be true, and what to do. */
export function Concerns(): JSX.Element {
  const { answer } = usePolled<Freshness>('/freshness', checkMs);
  return (
    <div role="status">
      {(answer?.concerns ?? []).map(({ kind, since, text, advice }) => (
        <div class="note note-bad" key={kind}>
          <Glyph shape="cross" />
          <p>
            <strong>{text}</strong>
            {since === undefined ? null : (
              <>
                {' '}
                This is since <Clock at={since} />.
              </>
            )}{' '}
            {advice}
          </p>
        </div>
      ))}
    </div>
  );
}
