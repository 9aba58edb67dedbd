import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { problemFrom, type Problem, type Versioned } from '../../api.ts';
import { Dialog } from '../../parts/controls.tsx';
import { ProblemNote } from '../../parts/notes.tsx';
import { useSession } from '../../session.ts';
import { t } from '../../texts/texts.ts';
import {
  changedBy,
  entriesOf,
  eventFaults,
  merged,
  noNotes,
  notesAfter,
  patchOf,
  urlFaults,
  type Entries,
  type EntryNotes,
  type Managed,
} from './entries.ts';
import { EventFields, OtherProblems, PlaceFields } from './endpoint-form.tsx';
import { focusFirstProblem } from './fields.tsx';
import { change, readManaged } from './managed.ts';

interface Form {
  readonly read: Versioned<Managed>;
  readonly entries: Entries;
}

/** Changes an endpoint. Two people who change it at once see what the other one did, and lose nothing of their own. */
export function ChangeDialog({
  id,
  onClose,
}: {
  readonly id: string;
  readonly onClose: () => void;
}): JSX.Element {
  const { csrf } = useSession();
  const [form, setForm] = useState<Form>();
  const [notes, setNotes] = useState<EntryNotes>(noNotes);
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const [isSaved, setSaved] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    readManaged(id).then(
      (read) => {
        setForm({ read, entries: entriesOf(read.answer) });
      },
      (error: unknown) => {
        setProblem(problemFrom(error));
      },
    );
  }, [id]);

  const enter = (entered: Entries): void => {
    if (form === undefined) return;
    setNotes(notesAfter(notes, form.entries, entered));
    setForm({ ...form, entries: entered });
  };

  const save = async ({ read, entries }: Form): Promise<void> => {
    const faults = [...urlFaults(entries), ...eventFaults(entries)];
    setNotes({ ...noNotes, faults });
    setProblem(undefined);
    if (faults.length > 0) {
      focusFirstProblem(element.current);
      return;
    }
    setBusy(true);
    try {
      await change(id, csrf, read.etag, patchOf(read.answer, entries));
      setSaved(true);
    } catch (error) {
      const refusal = problemFrom(error);
      setProblem(refusal);
      setNotes({ ...noNotes, refused: refusal.fields });
      if (refusal.status === 412) await takeOver({ read, entries });
      focusFirstProblem(element.current);
    }
    setBusy(false);
  };

  /** Somebody else was first. */
  const takeOver = async ({ read, entries }: Form): Promise<void> => {
    try {
      const now = await readManaged(id);
      const base = entriesOf(read.answer);
      const present = entriesOf(now.answer);
      const theirs = Object.fromEntries(
        changedBy(base, present).map((field) => [field, present[field]]),
      );
      setNotes({ ...noNotes, theirs });
      setForm({ read: now, entries: merged(base, entries, present) });
    } catch (error) {
      setProblem(problemFrom(error));
    }
  };

  const words = t.manage;
  return (
    <Dialog title={words.changeTitle} onClose={onClose}>
      {isSaved ? (
        <p role="status">{words.saved}</p>
      ) : form === undefined ? (
        problem === undefined ? (
          <p class="loading" role="status">
            {t.loading}
          </p>
        ) : null
      ) : (
        <form
          ref={element}
          id="change"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void save(form);
          }}
        >
          <PlaceFields entries={form.entries} notes={notes} onChange={enter} />
          <EventFields entries={form.entries} notes={notes} onChange={enter} />
          <OtherProblems refused={notes.refused} />
        </form>
      )}
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {isSaved ? t.close : t.cancel}
        </button>
        {isSaved || form === undefined ? null : (
          <button type="submit" form="change" class="primary" disabled={isBusy}>
            {isBusy ? words.saving : words.save}
          </button>
        )}
      </div>
    </Dialog>
  );
}
