import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Redrive } from '../../api/run-model.ts';
import { post, Problem } from '../api.ts';
import { counted } from '../format.ts';
import { Data, Id } from '../parts/data.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { useSession } from '../session.ts';
import { hasEnded, RunProgress, useRun } from './run-progress.tsx';

const hourMs = 3_600_000;

const spans = [
  ['1', 'the last hour'],
  ['24', 'the last 24 hours'],
  ['72', 'the last 3 days'],
  ['', 'all that is kept (30 days)'],
] as const;

interface Selection {
  readonly destination?: string;
  readonly reason?: string;
  readonly since?: string;
  readonly until: string;
}

/** A selection, its preview, the run, and what came of it. */
export function RedriveDialog({
  destination,
  reason,
  onClose,
}: {
  readonly destination?: string | undefined;
  readonly reason?: string | undefined;
  readonly onClose: () => void;
}): JSX.Element {
  const { csrf } = useSession();
  const [hours, setHours] = useState('24');
  const [preview, setPreview] = useState<{ begun: Redrive; selection: Selection }>();
  const [running, setRunning] = useState<Redrive>();
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const count = useRun(preview?.begun, hasEnded);

  const ask = async (selection: Selection, dryRun: boolean): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const answer = await post<Redrive>('/redrives', csrf, { ...selection, dryRun });
      if (dryRun) setPreview({ begun: answer, selection });
      else setRunning(answer);
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error), ''));
    }
    setBusy(false);
  };
  const look = (): void => {
    const now = Date.now();
    // What becomes a dead letter after the preview is not sent again by it.
    void ask(
      {
        ...(destination === undefined ? {} : { destination }),
        ...(reason === undefined ? {} : { reason }),
        ...(hours === '' ? {} : { since: new Date(now - Number(hours) * hourMs).toISOString() }),
        until: new Date(now).toISOString(),
      },
      true,
    );
  };
  const { state, found = 0, detail } = count.run ?? {};
  const isCounted = state === 'done';
  const shown = problem ?? (isCounted ? undefined : count.problem);
  return (
    <Dialog title="Send dead letters again" onClose={onClose}>
      <p>
        {reason === undefined ? 'All reasons' : <Data text={reason} />}
        {destination === undefined ? (
          ', all destinations'
        ) : (
          <>
            {', destination '}
            <Id text={destination} />
          </>
        )}
      </p>
      {running !== undefined ? (
        <RunProgress started={running} expected={found} />
      ) : preview === undefined ? (
        <>
          <p>
            The events go back to their destination, at a pace that leaves room for new ones, and
            are retried as new ones are. Endpoints may get an event that they had before.
          </p>
          <label class="field">
            <span>Given up in</span>
            <select
              value={hours}
              onChange={(event) => {
                setHours(event.currentTarget.value);
              }}
            >
              {spans.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        </>
      ) : (
        <p role="status">
          {state === 'failed' ? (
            'They could not be counted. Nothing was sent.'
          ) : !isCounted ? (
            `Counting: ${counted(found, 'event')} so far.`
          ) : found === 0 ? (
            'No dead letter matches. Nothing would be sent.'
          ) : (
            <>
              <strong>{counted(found, 'event')}</strong> would be sent again. Nothing was sent yet.
            </>
          )}
        </p>
      )}
      {detail === undefined || running !== undefined ? null : (
        <p>
          <Data text={detail} />
        </p>
      )}
      {shown === undefined ? null : <ProblemNote problem={shown} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {running === undefined ? 'Cancel' : 'Close'}
        </button>
        {running !== undefined ? null : preview === undefined || state === 'failed' ? (
          <button type="button" class="primary" disabled={isBusy} onClick={look}>
            {state === 'failed' ? 'Count again' : 'Preview'}
          </button>
        ) : (
          <button
            type="button"
            class="primary"
            disabled={isBusy || !isCounted || found === 0}
            onClick={() => void ask(preview.selection, false)}
          >
            Send {counted(found, 'event')} again
          </button>
        )}
      </div>
    </Dialog>
  );
}
