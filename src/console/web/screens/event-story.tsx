import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DestinationStory, Story } from '../../api/answers/events.ts';
import { inOwnZone, zone } from '../format.ts';
import { urlOf } from '../navigation.ts';
import { Copy } from '../parts/controls.tsx';
import { Clock, Data, Id, Lines, None, Time } from '../parts/data.tsx';
import type { Shape } from '../parts/glyph.tsx';
import { Section } from '../parts/page.tsx';
import { Badge, type Tone } from '../parts/state.tsx';
import { useSession, useWords } from '../session.ts';
import { RedriveDialog } from './redrive-dialog.tsx';

type StoryState = DestinationStory['state'];

const looks: Readonly<Record<StoryState, { word: string; tone: Tone; shape: Shape }>> = {
  delivered: { word: 'Delivered', tone: 'good', shape: 'check' },
  waiting: { word: 'Waiting', tone: 'warn', shape: 'wait' },
  'on-its-way': { word: 'On its way', tone: 'idle', shape: 'right' },
  paused: { word: 'Kept, paused', tone: 'idle', shape: 'pause' },
  'dead-letter': { word: 'Dead letter', tone: 'bad', shape: 'letter' },
  'sent-again': { word: 'Sent again', tone: 'warn', shape: 'again' },
  dropped: { word: 'Dropped', tone: 'idle', shape: 'off' },
  done: { word: 'Done', tone: 'good', shape: 'check' },
  'no-trace': { word: 'No trace', tone: 'bad', shape: 'cross' },
  unwanted: { word: 'Not wanted', tone: 'idle', shape: 'off' },
};

const receiptLooks = {
  routed: { word: 'Routed', tone: 'good', shape: 'check' },
  unwanted: { word: 'Not wanted', tone: 'idle', shape: 'off' },
  duplicate: { word: 'Duplicate', tone: 'idle', shape: 'off' },
  rejected: { word: 'Rejected', tone: 'bad', shape: 'cross' },
  unreadable: { word: 'Unreadable', tone: 'bad', shape: 'lock' },
  'not-routed-yet': { word: 'Not routed yet', tone: 'warn', shape: 'wait' },
} as const;

export function EventStory({
  story,
  onSentAgain,
}: {
  readonly story: Story;
  readonly onSentAgain: () => void;
}): JSX.Element {
  const { messageId, user, source, type, event, received, destinations } = story;
  const { role } = useSession();
  const wanting = destinations.filter(({ state }) => state !== 'unwanted');
  const others = destinations.filter(({ state }) => state === 'unwanted');
  return (
    <>
      <dl class="facts panel">
        <Fact name="Message id" text={messageId} />
        <Fact name="User" text={user} />
        <Fact name="Source" text={source} />
        <Fact name="Type" text={type} />
        {event === null ? null : <Fact name="Event" text={event} />}
      </dl>
      <p class="quiet">All times are those of your time zone, {zone}.</p>
      {role === 'customer' ? null : <Received received={received} />}
      <Section title={wanting.length === 1 ? 'One destination' : `${wanting.length} destinations`}>
        <div class="stories">
          {wanting.map((each) => (
            <OneDestination
              key={`${each.destination} ${each.uid ?? ''}`}
              story={each}
              of={story}
              onSentAgain={onSentAgain}
            />
          ))}
          {wanting.length === 0 ? <p class="quiet">No destination got it or gets it.</p> : null}
        </div>
      </Section>
      {others.length === 0 ? null : (
        <details class="not-wanted">
          <summary>Destinations that do not want it ({others.length})</summary>
          <ul>
            {others.slice(0, shownUnwanted).map(({ destination, detail }) => (
              <li key={destination}>
                <Id text={destination} />: <Data text={detail} />
              </li>
            ))}
          </ul>
          {others.length > shownUnwanted ? (
            <p class="quiet">And {others.length - shownUnwanted} more.</p>
          ) : null}
        </details>
      )}
    </>
  );
}

/** A source may have thousands of destinations that want other calls. */
const shownUnwanted = 100;

/** Not for customers, to whom the API tells nothing of the ingest topics. */
function Received({ received }: Pick<Story, 'received'>): JSX.Element {
  return (
    <Section title="Received">
      <ol class="timeline panel">
        {received.map(({ at, outcome, topic, place, detail }) => (
          <li key={`${topic} ${place}`} class={receiptLooks[outcome].tone}>
            <span class="timeline-at">
              <Clock at={at} />
            </span>
            <span>
              <Badge {...receiptLooks[outcome]} /> <Data text={inOwnZone(detail)} />
              <span class="under">
                <Id text={`${topic} ${place}`} />
              </span>
            </span>
          </li>
        ))}
        {received.length === 0 ? (
          <li class="idle">
            <span class="quiet">Its record in the ingest topics is not kept any more.</span>
          </li>
        ) : null}
      </ol>
    </Section>
  );
}

function Fact({
  name,
  text,
}: {
  readonly name: string;
  readonly text: string | null;
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {text === null ? (
          <None />
        ) : (
          <>
            <Id text={text} /> <Copy text={text} what={name} />
          </>
        )}
      </dd>
    </div>
  );
}

function OneDestination({
  story,
  of,
  onSentAgain,
}: {
  readonly story: DestinationStory;
  readonly of: Story;
  readonly onSentAgain: () => void;
}): JSX.Element {
  const { destination, state, at, detail, until, deadline, place, happened } = story;
  const { role } = useSession();
  const { letter } = useWords();
  const copy = of.copies?.find((each) => each.destination === destination);
  return (
    <article class="story panel">
      <h3>
        <a href={urlOf.destination(destination)}>
          <Id text={destination} />
        </a>
        <Badge {...looks[state]} {...(state === 'dead-letter' ? { word: letter } : {})} />
        {at === null ? null : (
          <span class="quiet story-at">
            <Time at={at} />
          </span>
        )}
      </h3>
      <p>
        <Data text={inOwnZone(detail)} />
      </p>
      {until === null && deadline === null ? null : (
        <p class="quiet">
          {until === null ? null : (
            <>
              Tried again <Time at={until} />.{' '}
            </>
          )}
          {deadline === null ? null : (
            <>
              Given up <Time at={deadline} />.
            </>
          )}
        </p>
      )}
      {happened.length === 0 ? null : (
        <ol class="timeline">
          {happened.map((each, index) => (
            <li key={index} class={toneOf(each.what)}>
              <span class="timeline-at">
                <Clock at={each.at} />
              </span>
              <Data text={inOwnZone(each.what)} />
            </li>
          ))}
        </ol>
      )}
      {place === null ? null : (
        <p class="quiet">
          It lies at <Id text={place} />.
        </p>
      )}
      {state !== 'dead-letter' || role !== 'operator' ? null : (
        <SendAgain destination={destination} of={of} onSentAgain={onSentAgain} />
      )}
      {copy === undefined ? null : (
        <details>
          <summary>Headers and body, as they are sent</summary>
          <Lines value={headerLines(copy.headers)} />
          <Lines value={copy.body} />
        </details>
      )}
    </article>
  );
}

function SendAgain({
  destination,
  of: { messageId: message, user },
  onSentAgain,
}: {
  readonly destination: string;
  readonly of: Story;
  readonly onSentAgain: () => void;
}): JSX.Element {
  const [isSending, setSending] = useState(false);
  return (
    <p>
      <button
        type="button"
        onClick={() => {
          setSending(true);
        }}
      >
        Send again…
      </button>
      {isSending ? (
        <RedriveDialog
          destination={destination}
          event={user === null ? { message } : { message, user }}
          onClose={() => {
            setSending(false);
            onSentAgain();
          }}
        />
      ) : null}
    </p>
  );
}

function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

/** By the words with which `explain` begins. */
function toneOf(what: string): Tone {
  if (/^attempt \d+ delivered/.test(what)) return 'good';
  if (/^(attempt \d+ (failed|refused)|dead letter|given up)/.test(what)) return 'bad';
  return /^(waits|put off)/.test(what) ? 'warn' : 'idle';
}
