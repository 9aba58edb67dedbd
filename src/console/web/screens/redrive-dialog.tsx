import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Redrive } from '../../api/answers/actions.ts';
import { post, Problem } from '../api.ts';
import { counted } from '../format.ts';
import { Data, Id } from '../parts/data.tsx';
import { Dialog } from '../parts/controls.tsx';
import { ProblemNote } from '../parts/notes.tsx';
import { useSession } from '../session.ts';
import { hasEnded, RunProgress, useRun } from './run-progress.tsx';

const hourMs = 3_600_000;

const spans = [
  ['1', 'the last hour'],
  ['24', 'the last 24 hours'],
  ['72', 'the last 3 days'],
  ['', 'all that is kept'],
  ['own', 'a time of your own'],
] as const;

const paces = [
  ['10/s', '10 a second'],
  ['100/s', '100 a second'],
  ['500/s', '500 a second'],
  ['2000/s', '2,000 a second'],
] as const;

interface Selection {
  readonly destination?: string;
  readonly customer?: string;
  readonly reason?: string;
  readonly source?: string;
  readonly message?: string;
  readonly user?: string;
  readonly since?: string;
  readonly until?: string;
  readonly places?: readonly string[];
  readonly again?: true;
  readonly rate: string;
}

/** The differences between the two kinds of records. */
const kinds = {
  events: {
    path: '/redrives',
    title: 'Send dead letters again',
    noun: 'event',
    rate: '100/s',
    none: 'No dead letter matches. Nothing would be sent.',
    effect:
      'The events go back to their destination, at a pace that leaves room for new ones, and are retried as new ones are. Endpoints may get an event that they had before.',
    all: ', all destinations',
  },
  calls: {
    path: '/rejected/redrives',
    title: 'Send rejected calls again',
    noun: 'call',
    rate: '500/s',
    none: 'No rejected call matches. Nothing would be sent.',
    effect:
      'The calls are routed again, as they were received. Those whose cause is not fixed are rejected again.',
    all: ', all sources',
  },
} as const;

/** A selection, its preview, the run, and what came of it. */
export function RedriveDialog({
  of = 'events',
  destination,
  customer,
  source,
  reason,
  places,
  event,
  onClose,
}: {
  readonly of?: keyof typeof kinds;
  readonly destination?: string | undefined;
  /** All destinations of this customer. */
  readonly customer?: string | undefined;
  readonly source?: string | undefined;
  readonly reason?: string | undefined;
  /** These letters only. */
  readonly places?: readonly string[] | undefined;
  /** The letters of this event only, whenever it was given up. */
  readonly event?: Pick<Selection, 'message' | 'user'> | undefined;
  readonly onClose: () => void;
}): JSX.Element {
  const { csrf } = useSession();
  const kind = kinds[of];
  const [hours, setHours] = useState('24');
  const [own, setOwn] = useState({ from: '', to: '' });
  const [rate, setRate] = useState<string>(kind.rate);
  const [again, setAgain] = useState(false);
  const [preview, setPreview] = useState<{ begun: Redrive; selection: Selection }>();
  const [running, setRunning] = useState<Redrive>();
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const count = useRun(preview?.begun, hasEnded);

  const ask = async (selection: Selection, dryRun: boolean): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const answer = await post<Redrive>(kind.path, csrf, { ...selection, dryRun });
      if (dryRun) setPreview({ begun: answer, selection });
      else setRunning(answer);
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error), ''));
    }
    setBusy(false);
  };
  const look = (): void => {
    const now = Date.now();
    const how = { rate, ...(again ? { again } : {}) };
    if (places !== undefined) {
      void ask({ places, ...how }, true);
      return;
    }
    if (event !== undefined) {
      void ask({ ...(destination === undefined ? {} : { destination }), ...event, ...how }, true);
      return;
    }
    const since = hours === 'own' ? timeOf(own.from) : isoOf(now - Number(hours) * hourMs);
    // What becomes a dead letter after the preview is not sent again by it.
    const until = (hours === 'own' ? timeOf(own.to) : undefined) ?? isoOf(now);
    void ask(
      {
        ...(destination === undefined ? {} : { destination }),
        ...(customer === undefined ? {} : { customer }),
        ...(source === undefined ? {} : { source }),
        ...(reason === undefined ? {} : { reason }),
        ...(hours === '' || since === undefined ? {} : { since }),
        until,
        ...how,
      },
      true,
    );
  };
  const hasSpan = places === undefined && event === undefined;
  const { state, found = 0, detail } = count.run ?? {};
  const isCounted = state === 'done';
  const shown = problem ?? (isCounted ? undefined : count.problem);
  return (
    <Dialog title={kind.title} onClose={onClose}>
      <p>
        {places !== undefined ? (
          counted(places.length, `chosen ${kind.noun}`)
        ) : (
          <>
            {event !== undefined ? (
              <>
                Event <Id text={event.message ?? ''} />
              </>
            ) : reason === undefined ? (
              'All reasons'
            ) : (
              <Data text={reason} />
            )}
            {customer !== undefined ? (
              <>
                , all destinations of customer <Id text={customer} />
              </>
            ) : destination === undefined && source === undefined ? (
              kind.all
            ) : (
              <>
                {destination === undefined ? ', source ' : ', destination '}
                <Id text={destination ?? source ?? ''} />
              </>
            )}
          </>
        )}
      </p>
      {running !== undefined ? (
        <RunProgress started={running} expected={found} noun={kind.noun} />
      ) : preview === undefined ? (
        <>
          <p>{kind.effect}</p>
          {!hasSpan ? null : (
            <Chosen
              label={of === 'events' ? 'Given up in' : 'Rejected in'}
              value={hours}
              values={spans}
              onChoose={setHours}
            />
          )}
          {hours !== 'own' || !hasSpan ? null : (
            <>
              <TimeField
                label="From"
                value={own.from}
                onChoose={(from) => {
                  setOwn({ ...own, from });
                }}
              />
              <TimeField
                label="To"
                value={own.to}
                onChoose={(to) => {
                  setOwn({ ...own, to });
                }}
              />
            </>
          )}
          <Chosen label="Pace, at most" value={rate} values={paces} onChoose={setRate} />
          <label class="field">
            <span>Also what was sent again before</span>
            <input
              type="checkbox"
              checked={again}
              onChange={(event) => {
                setAgain(event.currentTarget.checked);
              }}
            />
          </label>
        </>
      ) : (
        <p role="status">
          {state === 'failed' ? (
            'They could not be counted. Nothing was sent.'
          ) : !isCounted ? (
            `Counting: ${counted(found, kind.noun)} so far.`
          ) : found === 0 ? (
            kind.none
          ) : (
            <>
              <strong>{counted(found, kind.noun)}</strong> would be sent again. Nothing was sent
              yet.
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
            Send {counted(found, kind.noun)} again
          </button>
        )}
      </div>
    </Dialog>
  );
}

function Chosen({
  label,
  value,
  values,
  onChoose,
}: {
  readonly label: string;
  readonly value: string;
  readonly values: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string) => void;
}): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) => {
          onChoose(event.currentTarget.value);
        }}
      >
        {values.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** In the browser's time zone. */
function TimeField({
  label,
  value,
  onChoose,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChoose: (value: string) => void;
}): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="datetime-local"
        value={value}
        onChange={(event) => {
          onChoose(event.currentTarget.value);
        }}
      />
    </label>
  );
}

/** Undefined: the field is empty. */
function timeOf(local: string): string | undefined {
  return local === '' ? undefined : isoOf(Date.parse(local));
}

function isoOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
