import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FoundEvent, Page, Story } from '../../api/model.ts';
import { given, withQuery } from '../api.ts';
import { go, urlOf, type Place } from '../navigation.ts';
import { Data, Id, Time } from '../parts/data.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { PageHead } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { Table } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { EventStory } from './event-story.tsx';

/** An event is found by its message id; by its user, there is a list to choose from. */
export function EventPage({ place }: { readonly place: Place }): JSX.Element {
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
        <Found message={message} user={user} />
      ) : user !== '' ? (
        <OfUser user={user} />
      ) : (
        <Nothing title="No event is chosen.">
          With the message id and the user, the search looks in one partition only and is fastest.
        </Nothing>
      )}
    </>
  );
}

/** For a customer whose link shows bodies: one event at their destination, without a search, which is for staff. */
export function CustomerEventPage({
  destination,
  message,
  user,
}: {
  readonly destination: string;
  readonly message: string;
  readonly user: string;
}): JSX.Element {
  return (
    <>
      <p class="crumb">
        <a href={urlOf.home}>
          <Id text={destination} />
        </a>
      </p>
      <PageHead title="Event" />
      <Found message={message} user={user} />
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

/** For each story the console reads Kafka, for a second or more. */
const storyMs = 60_000;

function Found({
  message,
  user,
}: {
  readonly message: string;
  readonly user: string;
}): JSX.Element {
  const story = usePolled<Story>(withQuery('/events', { message, user: given(user) }), storyMs);
  return (
    <Shown of={story}>
      {(answer) => (
        <>
          <EventStory story={answer} />
          <p class="look-again">
            <button type="button" onClick={story.reload}>
              Look again
            </button>
          </p>
        </>
      )}
    </Shown>
  );
}

function OfUser({ user }: { readonly user: string }): JSX.Element {
  const question = withQuery('/events/search', { user });
  const paging = usePaging(question);
  const events = usePolled<Page<FoundEvent>>(
    withQuery('/events/search', { user, cursor: paging.cursor, limit: 50 }),
  );
  return (
    <Shown of={events}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Nothing title="No event of this user is known.">
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
              columns={[
                {
                  title: 'Message id',
                  kind: 'name',
                  cell: (event) => (
                    <a class="row-link" href={urlOf.event(event.messageId, event.user)}>
                      <Id text={event.messageId} />
                    </a>
                  ),
                },
                { title: 'Last change', cell: ({ at }) => <Time at={at} /> },
                { title: 'Type', cell: ({ type }) => <Data text={type} /> },
                { title: 'Source', cell: ({ source }) => <Id text={source} /> },
                {
                  title: 'Destinations',
                  kind: 'wide',
                  cell: ({ destinations }) => <Data text={destinations.join(', ')} />,
                },
              ]}
            />
            <Pager paging={paging} next={next} label="Pages of events" />
          </>
        )
      }
    </Shown>
  );
}
