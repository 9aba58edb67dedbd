import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Redrive } from '../../api/model.ts';
import { count, counted } from '../format.ts';
import { Data } from '../parts/data.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { usePolled } from '../polled.ts';

const progressMs = 1_000;
const stillMs = 3_600_000;

/** How far sending events again is, and what became of them. */
export function RunProgress({ started }: { readonly started: Redrive }): JSX.Element {
  const [isEnded, setEnded] = useState(false);
  const polled = usePolled<Redrive>(
    `/redrives/${encodeURIComponent(started.id)}`,
    isEnded ? stillMs : progressMs,
  );
  const { state, found, sent, outcome, detail } = polled.answer ?? started;
  const isOver = state === 'done' || state === 'failed';
  if (isOver && !isEnded && outcome?.waiting === 0) setEnded(true);
  return (
    <>
      <p role="status">
        {state === 'failed'
          ? `It stopped after ${part(sent, found)}.`
          : state === 'done'
            ? `All ${counted(sent, 'event')} were sent again.`
            : `${part(sent, found)} sent again.`}{' '}
        {isOver ? null : 'It goes on if you close this.'}
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
      {polled.problem === undefined ? null : <ProblemNote problem={polled.problem} />}
    </>
  );
}

/** Where it was not counted before, what is sent is all that is known. */
function part(sent: number, found: number): string {
  return found > sent ? `${count(sent)} of ${counted(found, 'event')}` : counted(sent, 'event');
}
