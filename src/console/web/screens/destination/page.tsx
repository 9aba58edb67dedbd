import type { ComponentChildren, JSX } from 'preact';
import type { DestinationDetail } from '../../../api/answers/destinations.ts';
import type { DeadLetter } from '../../../api/answers/events.ts';
import type { Page } from '../../../api/answers/shapes.ts';
import { count, milliseconds, percent, rate, short } from '../../format.ts';
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
import { filled, plural, rich, t } from '../../texts/texts.ts';
import { letterColumns } from '../letter-columns.tsx';
import { Attempts } from './attempts.tsx';
import { OverTime } from './over-time.tsx';
import { Waiting } from './waiting.tsx';

/** One destination: what is wrong, since when, and what can be done. */
export function DestinationPage({
  id,
  list,
  actions,
}: {
  readonly id: string;
  /** The list that it is in; undefined: this destination is all that there is to see. */
  readonly list: { readonly href: string; readonly title: string } | undefined;
  /** The buttons for everything that this person may do with it. */
  readonly actions?: (destination: DestinationDetail, reload: () => void) => ComponentChildren;
}): JSX.Element {
  const path = `/destinations/${encoded(id)}`;
  const detail = usePolled<DestinationDetail>(path);
  return (
    <>
      {list === undefined ? null : (
        <p class="crumb">
          <a href={list.href}>{list.title}</a>
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
              {actions?.(destination, detail.reload)}
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
              <Section title={t.destination.configuration}>
                <p class="quiet section-note">{t.destination.masked}</p>
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
  const {
    pause,
    resumedSince,
    byOtherUrl,
    kept = 0,
    asOf,
    formerSecretUntil,
    notify,
  } = destination;
  const begin = pause?.since ?? since;
  const words = t.destination;
  const at = (time: string): Record<'time', JSX.Element> => ({ time: <Time at={time} /> });
  const facts: readonly ComponentChildren[] = [
    byOtherUrl === true && words.otherUrl,
    kept > 0 && plural(kept, words.kept),
    state === 'unknown' && asOf !== undefined && rich(words.lastHeard, at(asOf)),
    begin !== undefined && rich(words.began, at(begin)),
    until !== undefined && Date.parse(until) >= Date.now() && rich(words.ends, at(until)),
    resumedSince !== undefined && rich(words.resumed, at(resumedSince)),
    nextTry !== undefined && rich(words.nextTry, at(nextTry)),
    waiting > 0 && (
      <>
        {plural(waiting, words.waits)}
        {oldest !== undefined && rich(words.waitsOldest, at(oldest))}
        {deadline !== undefined && rich(words.waitsDeadline, at(deadline))}.
      </>
    ),
    formerSecretUntil !== undefined && rich(words.formerSecret, at(formerSecretUntil)),
    notify !== undefined && rich(words.notices, { url: <Data text={notify} /> }),
  ].filter((fact) => fact !== false);
  return (
    <>
      <p class="quiet">
        <Id text={destination.id} /> <Copy text={destination.id} what={t.destination.idOf} />
      </p>
      <p>
        {lookOf(state).meaning}
        {facts.map((fact) => (
          <> {fact}</>
        ))}
      </p>
      {lastAnswer === undefined ? null : (
        <div class="last-answer">
          <span class="quiet">{words.lastAnswer}</span>
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
        <dt>{t.destination.success}</dt>
        <dd class={tone}>{share === undefined ? <None /> : percent(share)}</dd>
      </div>
      <div>
        <dt>{t.destination.delivered}</dt>
        <dd>{rate(perMinute.delivered)}</dd>
      </div>
      <div>
        <dt>{t.destination.failed}</dt>
        <dd>{rate(perMinute.failed)}</dd>
      </div>
      <div>
        <dt>{t.destination.latency}</dt>
        <dd>{p99Ms === undefined ? <None /> : milliseconds(p99Ms)}</dd>
      </div>
      <div>
        <dt>{t.destination.waiting}</dt>
        <dd>
          {count(waiting)}
          {oldest === undefined ? null : (
            <small class="under">
              {rich(t.destination.oldest, { time: <Time at={oldest} /> })}
            </small>
          )}
        </dd>
      </div>
      <div>
        <dt>{filled(t.destination.lettersADay, { letters })}</dt>
        <dd>
          <DeadLetterLink id={id} deadLetters={deadLetters} />
        </dd>
      </div>
      <div>
        <dt>{t.destination.open}</dt>
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
      aside={
        isCustomer ? undefined : <a href={urlOf.deadLetters(destination)}>{t.destination.seeAll}</a>
      }
    >
      <Shown of={letters}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing title={t.destination.noLetter} />
          ) : (
            <Table
              caption={filled(t.destination.lettersCaption, {
                letters: words.letters,
                n: items.length,
              })}
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
