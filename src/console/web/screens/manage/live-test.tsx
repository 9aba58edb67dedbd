import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TestAnswer } from '../../../api/answers/actions.ts';
import { problemFrom, type Problem } from '../../api.ts';
import { milliseconds } from '../../format.ts';
import { inWords } from '../../parts/answer.tsx';
import { Id, Lines } from '../../parts/data.tsx';
import { Glyph } from '../../parts/glyph.tsx';
import { ProblemNote } from '../../parts/notes.tsx';
import { OutcomeBadge } from '../../parts/state.tsx';
import { useSession } from '../../session.ts';
import { filled, t } from '../../texts/texts.ts';
import { sendTestTo } from './managed.ts';
import { mistakeOf } from './mistakes.ts';

/** Sends test events until the endpoint takes one, and says what to do about the usual mistakes. */
export function LiveTest({
  id,
  onAnswers,
}: {
  readonly id: string;
  readonly onAnswers?: (areGreen: boolean) => void;
}): JSX.Element {
  const { csrf } = useSession();
  const [isBusy, setBusy] = useState(false);
  const [answers, setAnswers] = useState<readonly TestAnswer[]>();
  const [problem, setProblem] = useState<Problem>();
  const send = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const got = await sendTestTo(id, csrf);
      setAnswers(got);
      onAnswers?.(areGreen(got));
    } catch (error) {
      setProblem(problemFrom(error));
    }
    setBusy(false);
  };
  const words = t.test;
  return (
    <div class="live-test">
      <p>{words.lead}</p>
      <p>
        <button type="button" class="primary" disabled={isBusy} onClick={() => void send()}>
          {isBusy ? words.sending : answers === undefined ? words.send : words.again}
        </button>
      </p>
      <div role="status" class={isBusy ? 'shown shown-old' : 'shown'}>
        {answers === undefined ? null : <Result answers={answers} />}
      </div>
      {problem === undefined ? null : <ProblemNote problem={problem} />}
    </div>
  );
}

function areGreen(answers: readonly TestAnswer[]): boolean {
  return answers.length > 0 && answers.every(({ outcome }) => outcome === 'delivered');
}

function Result({ answers }: { readonly answers: readonly TestAnswer[] }): JSX.Element {
  const words = t.test;
  if (answers.length === 0) return <p>{words.none}</p>;
  const isGreen = areGreen(answers);
  return (
    <>
      <div class={`note ${isGreen ? 'note-good' : 'note-bad'}`}>
        <Glyph shape={isGreen ? 'check' : 'cross'} />
        <p>
          <strong>{isGreen ? words.green : words.red}</strong>
        </p>
      </div>
      <ul class="test-answers">
        {answers.map((answer) => (
          <OneAnswer key={answer.url} answer={answer} />
        ))}
      </ul>
    </>
  );
}

function OneAnswer({ answer: tested }: { readonly answer: TestAnswer }): JSX.Element {
  const { url, outcome, status, detail, answer, tookMs } = tested;
  const mistake = mistakeOf(tested);
  const advice = mistake === undefined ? undefined : t.test.mistakes[mistake];
  // The address and the setting that would allow it are nothing for customers.
  const said = mistake === 'inner' ? t.noAnswer : inWords(status, detail);
  return (
    <li>
      <OutcomeBadge outcome={outcome} />{' '}
      {filled(t.test.took, { answer: said, time: milliseconds(tookMs) })}
      <span class="under">
        <Id text={url} />
      </span>
      {answer === undefined || answer === '' ? null : <Lines value={answer} />}
      {advice === undefined ? null : (
        <p class="advice">
          <strong>{advice.title}</strong> {advice.text}
        </p>
      )}
    </li>
  );
}
