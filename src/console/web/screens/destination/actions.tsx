import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DestinationDetail } from '../../../api/answers/destinations.ts';
import type { Redrive, TestAnswer } from '../../../api/answers/actions.ts';
import { post, Problem } from '../../api.ts';
import { encoded } from '../../navigation.ts';
import { count, milliseconds } from '../../format.ts';
import { inWords } from '../../parts/answer.tsx';
import { Data, Id, Lines } from '../../parts/data.tsx';
import { Dialog } from '../../parts/controls.tsx';
import { Lazily } from '../../parts/lazily.tsx';
import { ProblemNote } from '../../parts/notes.tsx';
import { OutcomeBadge } from '../../parts/state.tsx';
import { useSession } from '../../session.ts';
import { LinksDialog } from './links.tsx';
import { RedriveDialog } from '../redrive-dialog.tsx';
import { RunProgress } from '../run-progress.tsx';

type Action = Asked | 'redrive' | 'links';
type Asked = 'test' | 'retry' | 'pause' | 'resume';

// Few consoles have an API behind them.
const changing = (): Promise<typeof import('../manage/endpoint-actions.tsx')> =>
  import('../manage/endpoint-actions.tsx');

/** For operators. Each asks first, and says what it will do. */
export function Actions({
  destination,
  onDone,
}: {
  readonly destination: DestinationDetail;
  readonly onDone: () => void;
}): JSX.Element {
  const [action, setAction] = useState<Action>();
  const { id, pause, resumedSince, state } = destination;
  const { manage } = useSession();
  const close = (): void => {
    setAction(undefined);
    onDone();
  };
  const isPaused = pause !== undefined || state === 'paused';
  const button = (name: Action, text: string): JSX.Element => (
    <button
      type="button"
      onClick={() => {
        setAction(name);
      }}
    >
      {text}
    </button>
  );
  return (
    <>
      {button('test', 'Send a test…')}
      {button('redrive', 'Redrive…')}
      {button('links', 'Links…')}
      {isPaused || resumedSince !== undefined ? button('resume', 'Resume…') : null}
      {isPaused || state === 'disabled' ? null : button('retry', 'Retry now…')}
      {isPaused ? null : button('pause', 'Pause…')}
      {manage === true ? (
        <Lazily load={changing}>
          {({ ChangeActions }) => <ChangeActions destination={destination} onDone={onDone} />}
        </Lazily>
      ) : null}
      {action === 'redrive' ? (
        <RedriveDialog destination={id} onClose={close} />
      ) : action === 'links' ? (
        <LinksDialog destination={destination} onClose={close} />
      ) : action === undefined ? null : (
        <Ask key={action} action={action} destination={destination} onClose={close} />
      )}
    </>
  );
}

interface Question {
  readonly title: string;
  readonly text: ComponentChildren;
  readonly confirm: string;
  readonly done: string;
}

function questionOf(action: Asked, destination: DestinationDetail): Question {
  const { urls, waiting } = destination;
  switch (action) {
    case 'test':
      return {
        title: 'Send a test event?',
        text: (
          <>
            <p>
              One track call, <q>Postrider Test</q> of the user <Id text="postrider-test" />, is
              sent to {urls.length > 1 ? `each of its ${count(urls.length)} URLs` : 'its URL'},
              signed as every delivery is. It is sent once and never retried.
            </p>
            <p>The endpoint may take it for a real event.</p>
          </>
        ),
        confirm: 'Send the test',
        done: 'The test was sent.',
      };
    case 'retry':
      return {
        title: 'Retry now what waits?',
        text: (
          <>
            <p>
              If its endpoint is mended: one of the events that wait to be tried again is sent at
              once. If the endpoint takes it, the others follow as fast as it takes them. If not,
              they stay where they are.
            </p>
            <p>
              The rate limit, deadlines and numbers of attempts stay as they are. Other destinations
              are not affected.
            </p>
          </>
        ),
        confirm: 'Retry now',
        done: 'Its endpoint was asked with the first event.',
      };
    case 'pause':
      return {
        title: 'Pause this destination?',
        text: (
          <>
            <p>
              From then on nothing is sent to it. Requests that are on their way end.{' '}
              {waiting > 0
                ? `The ${count(waiting)} events that wait, and those that come later, are kept`
                : 'Events that come later are kept'}{' '}
              for 14 days without a retry clock.
            </p>
            <p>Other destinations are not affected. Resume sends what was kept.</p>
          </>
        ),
        confirm: 'Pause',
        done: 'It is paused. Workers follow within seconds.',
      };
    case 'resume':
      return {
        title: 'Resume this destination?',
        text: (
          <p>
            New events are sent again, and what was kept is sent too, the oldest first, at a pace
            that leaves room for what is new. The endpoint may get many events at once.
          </p>
        ),
        confirm: 'Resume',
        done: 'It is resumed as soon as no other destination is being resumed.',
      };
  }
}

function Ask({
  action,
  destination,
  onClose,
}: {
  readonly action: Asked;
  readonly destination: DestinationDetail;
  readonly onClose: () => void;
}): JSX.Element {
  const { csrf } = useSession();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [answers, setAnswers] = useState<readonly TestAnswer[]>();
  const [running, setRunning] = useState<Redrive>();
  const { title, text, confirm, done } = questionOf(action, destination);
  const run = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const path = `/destinations/${encoded(destination.id)}/${action}`;
      const answer = await post<{ items?: readonly TestAnswer[] } | Redrive>(path, csrf);
      if ('state' in answer) setRunning(answer);
      setAnswers('state' in answer ? [] : (answer.items ?? []));
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error), ''));
    }
    setBusy(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p>
        <strong>
          <Data text={destination.name} />
        </strong>{' '}
        <span class="quiet">
          <Id text={destination.id} />
        </span>
      </p>
      {answers === undefined ? (
        text
      ) : (
        <>
          <p role="status">{done}</p>
          <TestAnswers answers={answers} />
          {action === 'retry' ? <RetryEnd answers={answers} /> : null}
          {running === undefined ? null : <RunProgress started={running} />}
        </>
      )}
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {answers === undefined ? 'Cancel' : 'Close'}
        </button>
        {answers === undefined ? (
          <button type="button" class="primary" disabled={isBusy} onClick={() => void run()}>
            {isBusy ? 'Waiting for the answer…' : confirm}
          </button>
        ) : null}
      </div>
    </Dialog>
  );
}

function RetryEnd({ answers }: { readonly answers: readonly TestAnswer[] }): JSX.Element {
  const [first] = answers;
  if (first === undefined)
    return (
      <p>
        No event was tried within eight seconds: none waits, no worker runs, or attempts are not
        kept.
      </p>
    );
  return first.outcome === 'delivered' ? (
    <p>What waits goes out now, as fast as the endpoint takes it.</p>
  ) : (
    <p>What waits stays where it is until the endpoint takes an event.</p>
  );
}

const encodings = {
  gzip: ', compressed',
  refused: ', uncompressed, because it answered 415 to a compressed body',
} as const;

function TestAnswers({ answers }: { readonly answers: readonly TestAnswer[] }): JSX.Element {
  return (
    <ul class="test-answers">
      {answers.map(({ url, outcome, status, detail, answer, tookMs, compression }) => (
        <li key={url}>
          <OutcomeBadge outcome={outcome} /> {inWords(status, detail)} in {milliseconds(tookMs)}
          {compression === undefined ? null : encodings[compression]}
          <span class="under">
            <Id text={url} />
          </span>
          {answer === undefined || answer === '' ? null : <Lines value={answer} />}
        </li>
      ))}
    </ul>
  );
}
