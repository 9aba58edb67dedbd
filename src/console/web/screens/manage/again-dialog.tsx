import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Redrive } from '../../../api/answers/actions.ts';
import { Problem, problemFrom } from '../../api.ts';
import { Dialog } from '../../parts/controls.tsx';
import { ProblemNote } from '../../parts/notes.tsx';
import { usePolled } from '../../polled.ts';
import { useSession } from '../../session.ts';
import { plural, t } from '../../texts/texts.ts';
import type { Fields } from './entries.ts';
import { runPath, sendAgain, type Resent } from './managed.ts';

const spans = ['1', '24', '72', 'all'] as const;
type Span = (typeof spans)[number];
const hourMs = 3_600_000;
const progressMs = 1_000;
const stillMs = 3_600_000;

interface Counted {
  readonly found: number;
  /** The choice that was counted, which is the one that is sent. */
  readonly chosen: Fields;
}

/** Sends events that were given up once more: a time, a count, and the progress. */
export function AgainDialog({
  whose,
  onClose,
}: {
  readonly whose: Resent;
  readonly onClose: () => void;
}): JSX.Element {
  const { csrf } = useSession();
  const [span, setSpan] = useState<Span>('24');
  const [counted, setCounted] = useState<Counted>();
  const [running, setRunning] = useState<Redrive>();
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const words = t.manage;
  const isForOne = whose.customer === undefined;
  const work = async (step: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await step();
    } catch (error) {
      setProblem(problemFrom(error));
    }
    setBusy(false);
  };
  const count = (): Promise<void> =>
    work(async () => {
      const chosen = chosenBy(span, Date.now());
      setCounted(undefined);
      const { state, found } = await sendAgain(whose, csrf, { ...chosen, dryRun: true });
      if (state === 'failed') throw new Problem(503, words.againUncounted, '');
      setCounted({ found, chosen });
    });
  const send = ({ chosen }: Counted): Promise<void> =>
    work(async () => {
      setRunning(await sendAgain(whose, csrf, chosen));
    });
  return (
    <Dialog title={isForOne ? words.againTitle : words.againAllTitle} onClose={onClose}>
      {running !== undefined ? (
        <Progress started={running} found={counted?.found ?? 0} />
      ) : (
        <>
          <p>{isForOne ? words.againText : words.againAllText}</p>
          <label class="field">
            <span>{words.span}</span>
            <select
              value={span}
              onChange={({ currentTarget }) => {
                setSpan(currentTarget.value as Span);
                setCounted(undefined);
              }}
            >
              {spans.map((each) => (
                <option key={each} value={each}>
                  {words.spans[each]}
                </option>
              ))}
            </select>
          </label>
          <p role="status">
            {counted === undefined
              ? null
              : counted.found === 0
                ? words.againNone
                : plural(counted.found, words.againFound)}
          </p>
        </>
      )}
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {running === undefined ? t.cancel : t.close}
        </button>
        {running !== undefined ? null : counted === undefined || counted.found === 0 ? (
          <button type="button" class="primary" disabled={isBusy} onClick={() => void count()}>
            {isBusy ? words.working : words.againCount}
          </button>
        ) : (
          <button
            type="button"
            class="primary"
            disabled={isBusy}
            onClick={() => void send(counted)}
          >
            {isBusy ? words.working : words.againDo}
          </button>
        )}
      </div>
    </Dialog>
  );
}

/** The time that was chosen, up to now: an event that is given up after the count is not sent again. */
function chosenBy(span: Span, nowMs: number): Fields {
  const until = new Date(nowMs).toISOString();
  if (span === 'all') return { until };
  return { since: new Date(nowMs - Number(span) * hourMs).toISOString(), until };
}

function Progress({
  started,
  found,
}: {
  readonly started: Redrive;
  readonly found: number;
}): JSX.Element {
  const [isOver, setOver] = useState(hasEnded(started));
  const polled = usePolled<Redrive>(runPath(started.id), isOver ? stillMs : progressMs);
  const run = polled.answer ?? started;
  if (hasEnded(run) !== isOver) setOver(hasEnded(run));
  const words = t.manage;
  return (
    <>
      <p role="status">
        {run.state === 'failed' ? words.againFailed : plural(run.sent, words.againSent)}
      </p>
      <progress
        value={run.sent}
        max={Math.max(1, found, run.found)}
        aria-label={words.againProgress}
      />
      <p class="quiet">{words.againGoesOn}</p>
      {polled.problem === undefined ? null : <ProblemNote problem={polled.problem} />}
    </>
  );
}

function hasEnded({ state }: Redrive): boolean {
  return state === 'done' || state === 'failed';
}
