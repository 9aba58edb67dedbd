import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Redrive } from '../../api/model.ts';
import type { Problem } from '../api.ts';
import { count, counted } from '../format.ts';
import { Data } from '../parts/data.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { usePolled } from '../polled.ts';

const progressMs = 1_000;
const stillMs = 3_600_000;

/**
 * A run as it is now; undefined: none was begun.
 * @param isOver nothing more becomes of it, so it is not asked for any more
 */
export function useRun(
  begun: Redrive | undefined,
  isOver: (run: Redrive) => boolean,
): { readonly run: Redrive | undefined; readonly problem: Problem | undefined } {
  const [endedId, setEndedId] = useState<string>();
  const path = begun === undefined ? undefined : `/redrives/${encodeURIComponent(begun.id)}`;
  const polled = usePolled<Redrive>(path, endedId === begun?.id ? stillMs : progressMs);
  const run = (polled.isOld ? undefined : polled.answer) ?? begun;
  if (run !== undefined && run.id !== endedId && isOver(run)) setEndedId(run.id);
  return { run, problem: polled.problem };
}

export function hasEnded({ state }: Redrive): boolean {
  return state === 'done' || state === 'failed';
}

/**
 * How far sending events again is, and what became of them.
 * @param expected how many were counted before; undefined: none were
 */
export function RunProgress({
  started,
  expected = 0,
}: {
  readonly started: Redrive;
  readonly expected?: number;
}): JSX.Element {
  const { run = started, problem } = useRun(
    started,
    (each) => hasEnded(each) && each.outcome?.waiting === 0,
  );
  const { state, sent, outcome, detail } = run;
  const found = Math.max(run.found, expected);
  return (
    <>
      <p role="status">
        {state === 'failed'
          ? `It stopped after ${part(sent, found)}.`
          : state === 'done'
            ? `All ${counted(sent, 'event')} were sent again.`
            : `${part(sent, found)} sent again.`}{' '}
        {hasEnded(run) ? null : 'It goes on if you close this.'}
      </p>
      <progress value={sent} max={Math.max(1, found)} aria-label="Sent again" />
      {outcome === undefined ? null : (
        <dl class="outcome">
          <div>
            <dt>Delivered</dt>
            <dd>{count(outcome.delivered)}</dd>
          </div>
          <div>
            <dt>Refused</dt>
            <dd>{count(outcome.refused)}</dd>
          </div>
          <div>
            <dt>Waiting</dt>
            <dd>{count(outcome.waiting)}</dd>
          </div>
          <div>
            <dt>Other</dt>
            <dd>{count(outcome.other)}</dd>
          </div>
        </dl>
      )}
      {detail === undefined ? null : (
        <p>
          <Data text={detail} />
        </p>
      )}
      {problem === undefined ? null : <ProblemNote problem={problem} />}
    </>
  );
}

/** Where it was not counted before, what is sent is all that is known. */
function part(sent: number, found: number): string {
  return found > sent ? `${count(sent)} of ${counted(found, 'event')}` : counted(sent, 'event');
}
