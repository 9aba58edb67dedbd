import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { callTypes, type CallType } from '../../../../event/call.ts';
import type { EventName } from '../../../api/answers/events.ts';
import type { Page } from '../../../api/answers/shapes.ts';
import { Data, Lines, Time } from '../../parts/data.tsx';
import { usePolled } from '../../polled.ts';
import { rich, t } from '../../texts/texts.ts';
import type { Entries } from './entries.ts';
import { FieldNote, TextField } from './fields.tsx';

type Wanted = Pick<Entries, 'types' | 'names'>;

const namesMs = 60_000;

/** The choice of an endpoint's kinds of events, and of the names of those that have one. */
export function EventChoice({
  wanted,
  typesProblem,
  namesProblem,
  onChange,
}: {
  readonly wanted: Wanted;
  readonly typesProblem: ComponentChildren;
  readonly namesProblem: ComponentChildren;
  readonly onChange: (wanted: Wanted) => void;
}): JSX.Element {
  const { types, names } = wanted;
  const words = t.form;
  const toggle = (type: CallType): void => {
    const next = types.includes(type) ? types.filter((each) => each !== type) : [...types, type];
    onChange({ types: next, names });
  };
  return (
    <>
      <fieldset class="choices">
        <legend>{words.kinds}</legend>
        {callTypes.map((type) => (
          <label class="choice-line" key={type}>
            <input
              type="checkbox"
              checked={types.includes(type)}
              onChange={() => {
                toggle(type);
              }}
            />
            <span>
              {words.types[type].word}
              <span class="under">{words.types[type].hint}</span>
            </span>
          </label>
        ))}
        {typesProblem === undefined ? null : <FieldNote>{typesProblem}</FieldNote>}
      </fieldset>
      {types.includes('track') ? (
        <Names
          names={names}
          problem={namesProblem}
          onChange={(chosen) => {
            onChange({ types, names: chosen });
          }}
        />
      ) : null}
    </>
  );
}

function Names({
  names,
  problem,
  onChange,
}: {
  readonly names: Wanted['names'];
  readonly problem: ComponentChildren;
  readonly onChange: (names: Wanted['names']) => void;
}): JSX.Element {
  const group = useId();
  const words = t.form;
  const radio = (isSome: boolean, text: string): JSX.Element => (
    <label class="choice-line">
      <input
        type="radio"
        name={group}
        checked={(names !== undefined) === isSome}
        onChange={() => {
          onChange(isSome ? [] : undefined);
        }}
      />
      <span>{text}</span>
    </label>
  );
  return (
    <fieldset class="choices">
      <legend>{words.names}</legend>
      {radio(false, words.everyName)}
      {radio(true, words.someNames)}
      {names === undefined ? null : <NameList names={names} onChange={onChange} />}
      {problem === undefined ? null : <FieldNote>{problem}</FieldNote>}
    </fieldset>
  );
}

/** More than that, and a search is needed. */
const shownWithoutSearch = 8;

function NameList({
  names,
  onChange,
}: {
  readonly names: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
}): JSX.Element {
  const known = usePolled<Page<EventName>>('/event-names', namesMs);
  const [other, setOther] = useState('');
  const [sought, setSought] = useState('');
  const words = t.form;
  const offered = (known.answer?.items ?? []).filter(({ type }) => type === 'track');
  const offeredNames = new Set(offered.map(({ name }) => name));
  const own: readonly EventName[] = names
    .filter((name) => !offeredNames.has(name))
    .map((name) => ({ type: 'track', name }));
  const all = [...own, ...offered];
  const found = all.filter(({ name = '', description = '' }) =>
    `${name} ${description}`.toLowerCase().includes(sought.trim().toLowerCase()),
  );
  const toggle = (name: string): void => {
    onChange(names.includes(name) ? names.filter((each) => each !== name) : [...names, name]);
  };
  const add = (): void => {
    const name = other.trim();
    if (name !== '' && !names.includes(name)) onChange([...names, name]);
    setOther('');
  };
  return (
    <div class="names">
      {all.length <= shownWithoutSearch ? null : (
        <TextField label={words.searchNames} value={sought} onChange={setSought} />
      )}
      <ul class="name-list">
        {found.map(({ name = '', description, example, seen }) => (
          <li key={name}>
            <label class="choice-line">
              <input
                type="checkbox"
                checked={names.includes(name)}
                onChange={() => {
                  toggle(name);
                }}
              />
              <span>
                <Data text={name} />
                {description === undefined ? null : (
                  <span class="under">
                    <Data text={description} />
                  </span>
                )}
                {seen === undefined ? null : (
                  <span class="under">{rich(words.lastSeen, { time: <Time at={seen.at} /> })}</span>
                )}
              </span>
            </label>
            {example === undefined ? null : (
              <details>
                <summary>{words.example}</summary>
                <Lines value={example} />
              </details>
            )}
          </li>
        ))}
      </ul>
      <div
        class="add-name"
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          // It adds the name, and does not send the form.
          event.preventDefault();
          add();
        }}
      >
        <TextField
          label={words.otherName}
          hint={words.otherHint}
          value={other}
          onChange={setOther}
        />
        <button type="button" onClick={add}>
          {words.addName}
        </button>
      </div>
    </div>
  );
}
