import type { ComponentChildren, JSX } from 'preact';
import { callTypes } from '../../../../event/call.ts';
import { printable } from '../../../../printable.ts';
import { filled, t } from '../../texts/texts.ts';
import { entryAt, type Entries, type EntryField, type EntryNotes, type Fault } from './entries.ts';
import { EventChoice } from './event-choice.tsx';
import { TextField } from './fields.tsx';
import { UrlFields } from './url-fields.tsx';

interface Given {
  readonly entries: Entries;
  readonly notes: EntryNotes;
  readonly onChange: (entries: Entries) => void;
}

/** The URLs that events go to, a name, and a URL for notices. */
export function PlaceFields({ entries, notes, onChange }: Given): JSX.Element {
  const words = t.form;
  const { urls, name, notify } = entries;
  return (
    <>
      <UrlFields
        urls={urls}
        problemOf={(index) => noteAt(notes, 'urls', index)}
        onChange={(changed) => {
          onChange({ ...entries, urls: changed });
        }}
      />
      <TextField
        label={words.name}
        hint={t.add.nameHint}
        value={name}
        problem={noteAt(notes, 'name')}
        onChange={(changed) => {
          onChange({ ...entries, name: changed });
        }}
      />
      <TextField
        kind="url"
        label={words.notify}
        hint={words.notifyHint}
        value={notify}
        problem={noteAt(notes, 'notify')}
        onChange={(changed) => {
          onChange({ ...entries, notify: changed });
        }}
      />
    </>
  );
}

export function EventFields({ entries, notes, onChange }: Given): JSX.Element {
  return (
    <EventChoice
      wanted={entries}
      typesProblem={noteAt(notes, 'types')}
      namesProblem={noteAt(notes, 'names')}
      onChange={(wanted) => {
        onChange({ ...entries, ...wanted });
      }}
    />
  );
}

function noteAt(notes: EntryNotes, field: EntryField, index = 0): ComponentChildren {
  const { faults, refused, theirs } = notes;
  const own = faults.find((each) => each.at === field && each.index === index);
  if (own !== undefined) return faultTexts()[own.fault];
  const said = refused.filter(({ pointer }) => {
    const at = entryAt(pointer);
    return at?.field === field && at.index === index;
  });
  if (said.length > 0) return said.map(({ detail }) => printable(detail)).join(' ');
  return theirs[field] === undefined
    ? undefined
    : filled(t.form.changedTo, { value: printable(inWords(field, theirs)) });
}

function faultTexts(): Readonly<Record<Fault['fault'], string>> {
  return {
    'url-missing': t.add.urlMissing,
    'url-wrong': t.add.urlWrong,
    'types-missing': t.form.kindsMissing,
    'names-missing': t.form.namesMissing,
  };
}

function inWords(
  field: EntryField,
  { name, urls, notify, types, names }: Partial<Entries>,
): string {
  const words = t.form;
  switch (field) {
    case 'name':
      return name ?? '';
    case 'urls':
      return (urls ?? []).map(({ url }) => url).join(', ');
    case 'notify':
      return notify === undefined || notify === '' ? words.nothingSet : notify;
    case 'types':
      return types === undefined || types.length === callTypes.length
        ? words.allEvents
        : types.join(', ');
    case 'names':
      return names?.join(', ') ?? words.everyName;
  }
}

/** The API's sentences about fields that are not entered here. */
export function OtherProblems({ refused }: Pick<EntryNotes, 'refused'>): JSX.Element | null {
  const others = refused.filter(({ pointer }) => entryAt(pointer) === undefined);
  if (others.length === 0) return null;
  return (
    <ul class="other-problems">
      {others.map(({ pointer, detail }) => (
        <li key={`${pointer} ${detail}`}>
          {filled(t.form.other, {
            field: printable(pointer.split('/').slice(1).join('.')),
            problem: printable(detail),
          })}
        </li>
      ))}
    </ul>
  );
}
