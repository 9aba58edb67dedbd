import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { problemFrom, type Problem } from '../../api.ts';
import { Dialog } from '../../parts/controls.tsx';
import { ProblemNote } from '../../parts/notes.tsx';
import { t } from '../../texts/texts.ts';

/** A question, and what came of it. */
export function AskDialog<Answer>({
  title,
  question,
  confirm,
  isDangerous = false,
  act,
  done,
  onClose,
}: {
  readonly title: string;
  readonly question: ComponentChildren;
  readonly confirm: string;
  readonly isDangerous?: boolean;
  /** @throws Problem */
  readonly act: () => Promise<Answer>;
  /** The content of the dialog afterwards. */
  readonly done: (answer: Answer) => ComponentChildren;
  readonly onClose: () => void;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [answer, setAnswer] = useState<{ readonly of: Answer }>();
  const run = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      setAnswer({ of: await act() });
    } catch (error) {
      setProblem(problemFrom(error));
    }
    setBusy(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {answer === undefined ? question : <div role="status">{done(answer.of)}</div>}
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {answer === undefined ? t.cancel : t.close}
        </button>
        {answer === undefined ? (
          <button
            type="button"
            class={isDangerous ? 'danger' : 'primary'}
            disabled={isBusy}
            onClick={() => void run()}
          >
            {isBusy ? t.manage.working : confirm}
          </button>
        ) : null}
      </div>
    </Dialog>
  );
}
