import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { FoundEvent as EventRow } from '../../api/answers/events.ts';
import type { Page } from '../../api/answers/shapes.ts';
import { outcomes, type EventOutcome } from '../../api/choices.ts';
import { given, withQuery } from '../api.ts';
import { fullTime } from '../format.ts';
import { go, setQuery, urlOf, type Place } from '../navigation.ts';
import { Data, Id, Time } from '../parts/data.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import type { Shape } from '../parts/glyph.tsx';
import { Choice, SearchField } from '../parts/controls.tsx';
import { PageHead } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { Badge, type Tone } from '../parts/state.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { useSession } from '../session.ts';
import { partsFor } from './event-for-staff.tsx';
import { FoundEvent } from './found-event.tsx';

/** An event is found by its message id; by its user, there is a list to choose from. */
export function EventPage({ place }: { readonly place: Place }): JSX.Element {
  const { role } = useSession();
  const message = place.query.get('message') ?? '';
  const user = place.query.get('user') ?? '';
  return (
    <>
      <PageHead
        title="Events"
        lead="Where is it, and what happened to it? Search for a message id, or for a user."
      />
      <Search key={`${message} ${user}`} message={message} user={user} />
      {message !== '' ? (
        <FoundEvent message={message} user={user} parts={(reload) => partsFor(role, reload)} />
      ) : user !== '' ? (
        <OfUser key={user} user={user} place={place} />
      ) : (
        <Nothing title="No event is chosen.">
          With the message id and the user, the search looks in one partition only and is fastest.
        </Nothing>
      )}
    </>
  );
}

function Search({
  message,
  user,
}: {
  readonly message: string;
  readonly user: string;
}): JSX.Element {
  const [typed, setTyped] = useState({ message, user });
  return (
    <form
      class="tools event-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go(
          withQuery('/events', {
            message: given(typed.message.trim()),
            user: given(typed.user.trim()),
          }),
        );
      }}
    >
      <label class="field">
        <span>Message id</span>
        <input
          value={typed.message}
          autoComplete="off"
          spellcheck={false}
          onInput={(event) => {
            setTyped({ ...typed, message: event.currentTarget.value });
          }}
        />
      </label>
      <label class="field">
        <span>User</span>
        <input
          value={typed.user}
          autoComplete="off"
          spellcheck={false}
          onInput={(event) => {
            setTyped({ ...typed, user: event.currentTarget.value });
          }}
        />
      </label>
      <button type="submit" class="primary">
        Search
      </button>
    </form>
  );
}

const spans = [
  ['', 'Three days', 3 * 86_400_000],
  ['24h', '24 hours', 86_400_000],
  ['1h', '1 hour', 3_600_000],
] as const;

function OfUser({ user, place }: { readonly user: string; readonly place: Place }): JSX.Element {
  const { query } = place;
  const outcome = outcomes.find((each) => each === query.get('outcome'));
  const destination = query.get('destination') ?? '';
  const [span, , spanMs] = spans.find(([each]) => each === query.get('span')) ?? spans[0];
  // As of when it was chosen: a later one would be another question.
  const since = useMemo(() => new Date(Date.now() - spanMs).toISOString(), [spanMs]);
  const filters = { outcome, destination: given(destination) };
  const question = withQuery('/events/search', { user, span, ...filters });
  const paging = usePaging(question);
  const events = usePolled<Page<EventRow>>(
    withQuery('/events/search', {
      user,
      since: span === '' ? undefined : since,
      ...filters,
      cursor: paging.cursor,
      limit: 50,
    }),
  );
  const isFiltered = outcome !== undefined || destination !== '' || span !== '';
  return (
    <>
      <div class="tools">
        <label>
          <span class="unseen">Outcome</span>
          <select
            value={outcome ?? ''}
            onChange={(event) => {
              setQuery({ outcome: event.currentTarget.value });
            }}
          >
            <option value="">All outcomes</option>
            {outcomes.map((each) => (
              <option key={each} value={each}>
                {looks[each].word}
              </option>
            ))}
          </select>
        </label>
        <SearchField
          label="Destination's id"
          value={destination}
          onSearch={(text) => {
            setQuery({ destination: text });
          }}
        />
        <Choice
          label="Time"
          values={spans.map(([value, text]) => [value, text] as const)}
          chosen={span}
          onChoose={(value) => {
            setQuery({ span: value });
          }}
        />
      </div>
      <Shown of={events}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Nothing title={isFiltered ? 'No event matches.' : 'No event of this user is known.'}>
              Attempts are kept for three days. Is the id written exactly like this?
            </Nothing>
          ) : (
            <>
              <Table
                caption="Events of this user, the newest first"
                rows={items}
                keyOf={({ messageId }) => messageId}
                classOf={() => 'linked'}
                asCards
                columns={columns}
              />
              <Pager paging={paging} next={next} label="Pages of events" />
            </>
          )
        }
      </Shown>
    </>
  );
}

const columns: readonly Column<EventRow>[] = [
  {
    title: 'Message id',
    kind: 'name',
    cell: (event) => (
      // Not draggable, so that its id can be selected.
      <a class="row-link" draggable={false} href={urlOf.event(event.messageId, event.user)}>
        <Id text={event.messageId} />
      </a>
    ),
  },
  { title: 'Outcome', cell: ({ outcome }) => <Badge {...looks[outcome]} /> },
  {
    title: 'Last change',
    cell: ({ at }) => (
      <>
        <Time at={at} />
        <span class="under">{fullTime(at)}</span>
      </>
    ),
  },
  {
    title: 'Event',
    cell: ({ type, eventName }) => (
      <>
        <Data text={eventName ?? type} />
        {eventName === null ? undefined : <span class="under">{type}</span>}
      </>
    ),
  },
  { title: 'Source', cell: ({ source }) => <Id text={source} /> },
  {
    title: 'Destinations',
    kind: 'wide',
    cell: ({ destinations }) => <Data text={destinations.join(', ')} />,
  },
];

const looks: Readonly<Record<EventOutcome, { word: string; tone: Tone; shape: Shape }>> = {
  delivered: { word: 'Delivered', tone: 'good', shape: 'check' },
  dropped: { word: 'Dropped', tone: 'idle', shape: 'off' },
  kept: { word: 'Kept, paused', tone: 'idle', shape: 'pause' },
  waiting: { word: 'Waiting', tone: 'warn', shape: 'wait' },
  'dead-letter': { word: 'Dead letter', tone: 'bad', shape: 'letter' },
};
