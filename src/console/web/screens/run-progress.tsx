import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RunOutcome } from '../../../event/audit-entry.ts';
import type { Redrive, RunRow } from '../../api/answers/actions.ts';
import type { Problem } from '../api.ts';
import { encoded } from '../navigation.ts';
import { count, counted } from '../format.ts';
import { Data } from '../parts/data.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { usePolled } from '../polled.ts';

const progressMs = 1_000;
/** All is sent, and what became of it takes its time. */
const endedMs = 2_000;
const stillMs = 3_600_000;

/**
 * A run as it is now; undefined: none was begun.
 * @param isOver nothing more becomes of it, so it is not asked for any more
 */
export function useRun(
  begun: Redrive | undefined,
  isOver: (run: Redrive) => boolean,
): { readonly run: Redrive | undefined; readonly problem: Problem | undefined } {
  const [pace, setPace] = useState<{ readonly id: string; readonly everyMs: number }>();
  const path = begun === undefined ? undefined : `/redrives/${encoded(begun.id)}`;
  const everyMs = pace !== undefined && pace.id === begun?.id ? pace.everyMs : progressMs;
  const polled = usePolled<Redrive>(path, everyMs);
  const run = (polled.isOld ? undefined : polled.answer) ?? begun;
  if (run !== undefined) {
    const nextMs = isOver(run) ? stillMs : hasEnded(run) ? endedMs : progressMs;
    if (nextMs !== everyMs) setPace({ id: run.id, everyMs: nextMs });
  }
  return { run, problem: polled.problem };
}

export function hasEnded({ state }: Redrive): boolean {
  return state === 'done' || state === 'failed';
}

/**
 * The progress of a run, and what became of its events.
 * @param expected how many were counted before; undefined: none were
 */
export function RunProgress({
  started,
  expected = 0,
  noun = 'event',
}: {
  readonly started: Redrive;
  readonly expected?: number;
  readonly noun?: 'event' | 'call';
}): JSX.Element {
  const { run = started, problem } = useRun(started, (each) => hasEnded(each) && isKnown(each));
  const { state, sent, outcome, detail } = run;
  const found = Math.max(run.found, expected);
  return (
    <>
      <p role="status">
        {state === 'failed'
          ? `It stopped after ${part(sent, found, noun)}.`
          : state === 'done'
            ? `All ${counted(sent, noun)} were sent again.`
            : `${part(sent, found, noun)} sent again.`}{' '}
        {hasEnded(run) && isKnown(run) ? null : (
          <>
            If you close this, it goes on, and <a href="/runs">Runs</a> shows it.
          </>
        )}
      </p>
      <progress value={sent} max={Math.max(1, found)} aria-label="Sent again" />
      {outcome === undefined ? null : (
        <dl class="outcome">
          {outcomeParts(outcome).map(([title, events]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{count(events)}</dd>
            </div>
          ))}
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

/** True once the end of each of its events is known. */
function isKnown({ sent, outcome }: Pick<Redrive, 'sent' | 'outcome'>): boolean {
  return sent === 0 || (outcome !== undefined && outcome.waiting + outcome.other === 0);
}

/** The fates of events that were sent again, in words. */
export function outcomeParts({
  delivered,
  refused,
  waiting,
  other,
  dropped = 0,
}: RunOutcome): readonly (readonly [title: string, events: number])[] {
  return [
    ['Delivered', delivered],
    ['Given up again', refused],
    ['Waiting', waiting],
    ['Still on their way', other],
    ...(dropped === 0 ? [] : ([['User deleted', dropped]] as const)),
  ];
}

/** A run's result in words, which is more than nothing even if it failed. */
export function doneText(action: RunRow['action'], done: number): string {
  if (action === 'delete-user') return `${counted(done, 'user')} deleted`;
  const noun = action === 'redrive-rejected' ? 'call' : 'event';
  return `${counted(done, noun)} sent`;
}

/** The part that was sent. Without a count before, the number sent is all that is known. */
function part(sent: number, found: number, noun: string): string {
  return found > sent ? `${count(sent)} of ${counted(found, noun)}` : counted(sent, noun);
}
