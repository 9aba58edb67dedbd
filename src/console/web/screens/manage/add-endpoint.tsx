import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { problemFrom, type Problem } from '../../api.ts';
import { urlOf } from '../../navigation.ts';
import { ProblemNote } from '../../parts/notes.tsx';
import { PageHead } from '../../parts/page.tsx';
import { useSession } from '../../session.ts';
import { filled, t } from '../../texts/texts.ts';
import {
  entryAt,
  eventFaults,
  fieldsOf,
  newId,
  noEntries,
  noNotes,
  notesAfter,
  urlFaults,
  type Entries,
  type EntryNotes,
} from './entries.ts';
import { EventFields, OtherProblems, PlaceFields } from './endpoint-form.tsx';
import { focusFirstProblem } from './fields.tsx';
import { LiveTest } from './live-test.tsx';
import { create } from './managed.ts';
import { ReceiverCode, SecretShown } from './secret-shown.tsx';

const steps = ['url', 'events', 'secret', 'test'] as const;
type Step = (typeof steps)[number];

interface Created {
  readonly id: string;
  readonly secret: string;
}

/** A walk from a URL to an endpoint that has taken an event. */
export function AddEndpointPage(): JSX.Element {
  const [step, setStep] = useState<Step>('url');
  const [entries, setEntries] = useState<Entries>(noEntries);
  const [notes, setNotes] = useState<EntryNotes>(noNotes);
  const [problem, setProblem] = useState<Problem>();
  const [created, setCreated] = useState<Created>();
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const { csrf } = useSession();
  const words = t.add;

  const enter = (entered: Entries): void => {
    setNotes(notesAfter(notes, entries, entered));
    setEntries(entered);
  };

  const toEvents = (): void => {
    const faults = urlFaults(entries);
    setNotes({ ...noNotes, faults });
    if (faults.length > 0) {
      focusFirstProblem(form.current);
      return;
    }
    setProblem(undefined);
    setStep('events');
  };

  const make = async (): Promise<void> => {
    const faults = eventFaults(entries);
    setProblem(undefined);
    if (faults.length > 0) {
      setNotes({ ...noNotes, faults });
      return;
    }
    setBusy(true);
    try {
      setCreated(await createdFrom(named(entries), csrf));
      setNotes(noNotes);
      setStep('secret');
    } catch (error) {
      const refusal = problemFrom(error);
      setProblem(refusal);
      setNotes({ ...noNotes, refused: refusal.fields });
      const fields = refusal.fields.map(({ pointer }) => entryAt(pointer)?.field);
      if (fields.some((field) => field !== undefined && field !== 'types' && field !== 'names'))
        setStep('url');
      focusFirstProblem(form.current);
    }
    setBusy(false);
  };

  return (
    <>
      <p class="crumb">
        <a href={urlOf.home}>{t.endpoints}</a>
      </p>
      <PageHead title={words.title} lead={words.lead} />
      <Steps present={step} />
      {created === undefined ? (
        <form
          ref={form}
          class="walk panel"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            if (step === 'url') toEvents();
            else void make();
          }}
        >
          {step === 'url' ? (
            <StepPart step="url">
              <PlaceFields entries={entries} notes={notes} onChange={enter} />
            </StepPart>
          ) : (
            <StepPart step="events">
              <EventFields entries={entries} notes={notes} onChange={enter} />
            </StepPart>
          )}
          <OtherProblems refused={notes.refused} />
          {problem === undefined ? null : <ProblemNote problem={problem} />}
          <div class="dialog-actions">
            {step === 'url' ? null : (
              <button
                type="button"
                onClick={() => {
                  setStep('url');
                }}
              >
                {words.goBack}
              </button>
            )}
            <button type="submit" class="primary" disabled={isBusy}>
              {step === 'url' ? words.goOn : isBusy ? words.creating : words.create}
            </button>
          </div>
        </form>
      ) : step === 'secret' ? (
        <div class="walk panel">
          <StepPart step="secret">
            <p role="status">{words.created}</p>
            <p>{words.secretFirst}</p>
            <SecretShown secret={created.secret} />
            <ReceiverCode />
          </StepPart>
          <div class="dialog-actions">
            <button
              type="button"
              class="primary"
              onClick={() => {
                setStep('test');
              }}
            >
              {words.stored}
            </button>
          </div>
        </div>
      ) : (
        <Tested id={created.id} />
      )}
    </>
  );
}

function Tested({ id }: { readonly id: string }): JSX.Element {
  const [isGreen, setGreen] = useState(false);
  return (
    <div class="walk panel">
      <StepPart step="test">
        <LiveTest id={id} onAnswers={setGreen} />
      </StepPart>
      <p class="dialog-actions">
        <a class={isGreen ? 'button primary' : 'button'} href={urlOf.destination(id)}>
          {isGreen ? t.add.finish : t.add.later}
        </a>
      </p>
    </div>
  );
}

/** Its heading gets the focus, so that a screen reader says where one is. */
function StepPart({
  step,
  children,
}: {
  readonly step: Step;
  readonly children: ComponentChildren;
}): JSX.Element {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (step !== 'url') head.current?.focus();
  }, [step]);
  return (
    <>
      <h2 ref={head} tabIndex={-1}>
        {filled(t.add.step, {
          n: steps.indexOf(step) + 1,
          all: steps.length,
          title: t.add[step],
        })}
      </h2>
      {children}
    </>
  );
}

function Steps({ present }: { readonly present: Step }): JSX.Element {
  return (
    <ol class="steps" aria-label={t.add.steps}>
      {steps.map((step) => (
        <li
          key={step}
          aria-current={step === present ? 'step' : undefined}
          class={steps.indexOf(step) < steps.indexOf(present) ? 'past' : ''}
        >
          {t.add[step]}
        </li>
      ))}
    </ol>
  );
}

/** Without a name of its own it has that of the URL's host. */
function named(entries: Entries): Entries {
  const host = URL.parse(entries.urls[0]?.url.trim() ?? '')?.host ?? t.add.nameFirst;
  return entries.name.trim() === '' ? { ...entries, name: host } : entries;
}

const mostTries = 3;

/** @throws Problem */
async function createdFrom(entries: Entries, csrf: string, tries = 1): Promise<Created> {
  const id = newId(entries.urls[0]?.url ?? '');
  try {
    const { answer } = await create(id, csrf, fieldsOf(entries));
    return { id, secret: answer.sharedSecret };
  } catch (error) {
    // Somebody has the id already.
    if (problemFrom(error).status !== 409 || tries >= mostTries) throw error;
    return createdFrom(entries, csrf, tries + 1);
  }
}
