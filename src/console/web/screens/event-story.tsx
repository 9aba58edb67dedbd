import type { JSX } from 'preact';
import type { DestinationStory, Story } from '../../api/answers/events.ts';
import { inOwnZone, zone } from '../format.ts';
import { urlOf } from '../navigation.ts';
import { Copy } from '../parts/controls.tsx';
import { Clock, Data, Id, Lines, None, Time } from '../parts/data.tsx';
import type { Shape } from '../parts/glyph.tsx';
import { Section } from '../parts/page.tsx';
import { Badge, type Tone } from '../parts/state.tsx';
import { useWords } from '../session.ts';
import { filled, rich, t } from '../texts/texts.ts';

type StoryState = DestinationStory['state'];

const looks: Readonly<Record<StoryState, { tone: Tone; shape: Shape }>> = {
  delivered: { tone: 'good', shape: 'check' },
  waiting: { tone: 'warn', shape: 'wait' },
  'on-its-way': { tone: 'idle', shape: 'right' },
  paused: { tone: 'idle', shape: 'pause' },
  'dead-letter': { tone: 'bad', shape: 'letter' },
  'sent-again': { tone: 'warn', shape: 'again' },
  dropped: { tone: 'idle', shape: 'off' },
  done: { tone: 'good', shape: 'check' },
  'no-trace': { tone: 'bad', shape: 'cross' },
  unwanted: { tone: 'idle', shape: 'off' },
};

/** The parts of a story that only staff has. */
export interface StaffParts {
  readonly received?: ((story: Story) => JSX.Element) | undefined;
  readonly sendAgain?: ((destination: string, of: Story) => JSX.Element) | undefined;
}

export function EventStory({
  story,
  received,
  sendAgain,
}: {
  readonly story: Story;
} & StaffParts): JSX.Element {
  const { messageId, user, source, type, event, destinations } = story;
  const wanting = destinations.filter(({ state }) => state !== 'unwanted');
  const others = destinations.filter(({ state }) => state === 'unwanted');
  return (
    <>
      <dl class="facts panel">
        <Fact name={t.story.message} text={messageId} />
        <Fact name={t.story.user} text={user} />
        <Fact name={t.story.source} text={source} />
        <Fact name={t.story.type} text={type} />
        {event === null ? null : <Fact name={t.story.event} text={event} />}
      </dl>
      <p class="quiet">{filled(t.story.zone, { zone })}</p>
      {received?.(story)}
      <Section
        title={wanting.length === 1 ? t.story.one : filled(t.story.many, { n: wanting.length })}
      >
        <div class="stories">
          {wanting.map((each) => (
            <OneDestination
              key={`${each.destination} ${each.uid ?? ''}`}
              story={each}
              of={story}
              sendAgain={sendAgain}
            />
          ))}
          {wanting.length === 0 ? <p class="quiet">{t.story.nobody}</p> : null}
        </div>
      </Section>
      {others.length === 0 ? null : (
        <details class="not-wanted">
          <summary>{filled(t.story.unwanted, { n: others.length })}</summary>
          <ul>
            {others.slice(0, shownUnwanted).map(({ destination, detail }) => (
              <li key={destination}>
                <Id text={destination} />: <Data text={detail} />
              </li>
            ))}
          </ul>
          {others.length > shownUnwanted ? (
            <p class="quiet">{filled(t.story.more, { n: others.length - shownUnwanted })}</p>
          ) : null}
        </details>
      )}
    </>
  );
}

/** A source may have thousands of destinations that want other calls. */
const shownUnwanted = 100;

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
  sendAgain,
}: {
  readonly story: DestinationStory;
  readonly of: Story;
  readonly sendAgain: StaffParts['sendAgain'];
}): JSX.Element {
  const { destination, state, at, detail, until, deadline, place, happened } = story;
  const { letter } = useWords();
  const copy = of.copies?.find((each) => each.destination === destination);
  return (
    <article class="story panel">
      <h3>
        <a href={urlOf.destination(destination)}>
          <Id text={destination} />
        </a>
        <Badge {...looks[state]} word={state === 'dead-letter' ? letter : t.story.states[state]} />
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
          {until === null ? null : rich(t.story.triedAgain, { time: <Time at={until} /> })}{' '}
          {deadline === null ? null : rich(t.story.givenUp, { time: <Time at={deadline} /> })}
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
        <p class="quiet">{rich(t.story.place, { place: <Id text={place} /> })}</p>
      )}
      {state === 'dead-letter' ? sendAgain?.(destination, of) : null}
      {copy === undefined ? null : (
        <details>
          <summary>{t.story.body}</summary>
          <Lines value={headerLines(copy.headers)} />
          <Lines value={copy.body} />
        </details>
      )}
    </article>
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
