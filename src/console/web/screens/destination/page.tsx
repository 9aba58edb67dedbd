import type { JSX } from 'preact';
import type { DestinationDetail } from '../../../api/answers/destinations.ts';
import type { DeadLetter } from '../../../api/answers/events.ts';
import type { Page } from '../../../api/answers/shapes.ts';
import { count, counted, milliseconds, percent, rate, short } from '../../format.ts';
import { encoded, urlOf } from '../../navigation.ts';
import { Answer } from '../../parts/answer.tsx';
import { Copy } from '../../parts/controls.tsx';
import { Data, Id, Lines, None, Time } from '../../parts/data.tsx';
import { Nothing, Shown } from '../../parts/notes.tsx';
import { PageHead, Section } from '../../parts/page.tsx';
import { lookOf, StateBadge } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { usePolled } from '../../polled.ts';
import { mayOpenEvents, useSession, useWords } from '../../session.ts';
import { letterColumns } from '../letter-kinds.tsx';
import { Actions } from './actions.tsx';
import { Attempts } from './attempts.tsx';
import { OverTime } from './over-time.tsx';
import { Waiting } from './waiting.tsx';

/** One destination: what is wrong, since when, and what can be done. */
export function DestinationPage({ id }: { readonly id: string }): JSX.Element {
  const session = useSession();
  const path = `/destinations/${encoded(id)}`;
  const detail = usePolled<DestinationDetail>(path);
  return (
    <>
      {session.role === 'customer' ? null : (
        <p class="crumb">
          <a href="/">Destinations</a>
        </p>
      )}
      {detail.answer === undefined ? <PageHead title={id} heading={<Id text={id} />} /> : null}
      <Shown of={detail} key={id}>
        {(destination) => (
          <>
            <PageHead
              title={destination.name}
              heading={
                <span class="title-line">
                  <Data text={destination.name} />
                  <StateBadge state={destination.state} />
                </span>
              }
              lead={<Situation destination={destination} />}
            >
              {session.role === 'operator' ? (
                <Actions destination={destination} onDone={detail.reload} />
              ) : null}
            </PageHead>
            {destination.old === undefined ? null : (
              <p class="quiet" role="status">
                {destination.old}
              </p>
            )}
            <Figures destination={destination} />
            <OverTime path={path} urls={destination.urls} />
            <Waiting destination={destination} />
            <Attempts path={path} urls={destination.urls.map(({ url }) => url)} />
            <Letters path={path} destination={id} />
            {destination.resource === undefined ? null : (
              <Section title="Configuration">
                <p class="quiet section-note">As it is in force. Secrets are masked.</p>
                <Lines value={destination.resource} />
              </Section>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

/** The same facts as in the figures, as somebody would tell them. */
function Situation({ destination }: { readonly destination: DestinationDetail }): JSX.Element {
  const { state, since, until, lastAnswer, nextTry, waiting, oldest, deadline } = destination;
  const { pause, resumedSince, byOtherUrl, kept = 0, asOf, formerSecretUntil } = destination;
  const begin = pause?.since ?? since;
  return (
    <>
      <p class="quiet">
        <Id text={destination.id} /> <Copy text={destination.id} what="the id of the destination" />
      </p>
      <p>
        {lookOf(state).meaning}
        {byOtherUrl === true ? ' Another of its URLs gets the events.' : null}
        {kept > 0 ? ` ${counted(kept, 'event')} ${kept === 1 ? 'is' : 'are'} kept.` : null}
        {state !== 'unknown' || asOf === undefined ? null : (
          <>
            {' '}
            It was last heard of <Time at={asOf} />.
          </>
        )}
        {begin === undefined ? null : (
          <>
            {' '}
            It began <Time at={begin} />.
          </>
        )}
        {until === undefined || Date.parse(until) < Date.now() ? null : (
          <>
            {' '}
            It ends <Time at={until} />.
          </>
        )}
        {resumedSince === undefined ? null : (
          <>
            {' '}
            It was resumed <Time at={resumedSince} />, and events that were kept for it may be left.
            Where nothing sends them now, resume it once more.
          </>
        )}
        {nextTry === undefined ? null : (
          <>
            {' '}
            The next attempt is <Time at={nextTry} />.
          </>
        )}
        {waiting === 0 ? null : (
          <>
            {' '}
            {counted(waiting, 'event')} {waiting === 1 ? 'waits' : 'wait'}
            {oldest === undefined ? null : (
              <>
                , the oldest was received <Time at={oldest} />
              </>
            )}
            {deadline === undefined ? null : (
              <>
                ; the first is given up <Time at={deadline} />
              </>
            )}
            .
          </>
        )}
        {formerSecretUntil === undefined ? null : (
          <>
            {' '}
            Requests are signed with the former secret as well; that ends{' '}
            <Time at={formerSecretUntil} />.
          </>
        )}
      </p>
      {lastAnswer === undefined ? null : (
        <div class="last-answer">
          <span class="quiet">Last answer</span>
          <span>
            <Answer answer={lastAnswer} />
          </span>
        </div>
      )}
    </>
  );
}

function Figures({ destination }: { readonly destination: DestinationDetail }): JSX.Element {
  const { lastHour, perMinute, p99Ms, waiting, oldest, deadLetters, openDeadLetters, id } =
    destination;
  const { letters } = useWords();
  const share = lastHour.successRate;
  const tone = share === undefined || share >= 0.99 ? '' : share < 0.9 ? 'bad-text' : 'warn-text';
  return (
    <dl class="figures">
      <div>
        <dt>Success, last hour</dt>
        <dd class={tone}>{share === undefined ? <None /> : percent(share)}</dd>
      </div>
      <div>
        <dt>Delivered per minute</dt>
        <dd>{rate(perMinute.delivered)}</dd>
      </div>
      <div>
        <dt>Failed per minute</dt>
        <dd>{rate(perMinute.failed)}</dd>
      </div>
      <div>
        <dt>Latency, p99</dt>
        <dd>{p99Ms === undefined ? <None /> : milliseconds(p99Ms)}</dd>
      </div>
      <div>
        <dt>Events waiting</dt>
        <dd>
          {count(waiting)}
          {oldest === undefined ? null : (
            <small class="under">
              oldest <Time at={oldest} />
            </small>
          )}
        </dd>
      </div>
      <div>
        <dt>{letters}, 24 h</dt>
        <dd>
          <DeadLetterLink id={id} deadLetters={deadLetters} />
        </dd>
      </div>
      <div>
        <dt>Never sent again, 30 days</dt>
        <dd>
          <DeadLetterLink id={id} deadLetters={openDeadLetters} />
        </dd>
      </div>
    </dl>
  );
}

function DeadLetterLink({
  id,
  deadLetters,
}: {
  readonly id: string;
  readonly deadLetters: number;
}): JSX.Element {
  const { role } = useSession();
  if (deadLetters === 0 || role === 'customer') return <>{short(deadLetters)}</>;
  return <a href={urlOf.deadLetters(id)}>{short(deadLetters)}</a>;
}

const shownLetters = 10;

function Letters({
  path,
  destination,
}: {
  readonly path: string;
  readonly destination: string;
}): JSX.Element {
  const session = useSession();
  const words = useWords();
  const letters = usePolled<Page<DeadLetter>>(`${path}/dead-letters?limit=${shownLetters}`, 10_000);
  const isCustomer = session.role === 'customer';
  return (
    <Section
      title={words.letters}
      aside={isCustomer ? undefined : <a href={urlOf.deadLetters(destination)}>See all of them</a>}
    >
      <Shown of={letters}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing title="No event of it was given up." />
          ) : (
            <Table
              caption={`${words.letters}, the last ${items.length}`}
              columns={letterColumns({
                isLinked: mayOpenEvents(session),
                hasDestination: false,
                isForCustomer: isCustomer,
              })}
              rows={items}
              keyOf={({ place }) => place}
              asCards
            />
          )
        }
      </Shown>
    </Section>
  );
}
