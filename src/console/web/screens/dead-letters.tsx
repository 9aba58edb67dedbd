import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DeadLetter, DeadLetterCount } from '../../api/answers/events.ts';
import type { Page } from '../../api/answers/shapes.ts';
import { given, withQuery } from '../api.ts';
import { count, counted, dayText } from '../format.ts';
import { setQuery, type Place } from '../navigation.ts';
import { Days, dayList, firstDayOf } from '../parts/days.tsx';
import { Data, Id } from '../parts/data.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { Choice, PageHead, Section } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { Table } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { useSession } from '../session.ts';
import { letterColumns } from './letter-columns.tsx';
import { useLetterSelection } from './letter-selection.tsx';
import { deadLetterMeaning } from './reasons.ts';
import { RedriveDialog } from './redrive-dialog.tsx';

const spans = [
  ['1', 'Today'],
  ['7', '7 days'],
  ['30', '30 days'],
] as const;
type Span = (typeof spans)[number][0];

interface Group {
  readonly destination: string;
  readonly reason: string;
  readonly days: ReadonlyMap<string, number>;
  readonly total: number;
  /** Letters that were never sent again. */
  readonly open: number;
}

export function DeadLettersPage({ place }: { readonly place: Place }): JSX.Element {
  const destination = place.query.get('destination') ?? '';
  const reason = place.query.get('reason') ?? '';
  const days = spans.find(([span]) => span === place.query.get('days'))?.[0] ?? '7';
  const since = firstDayOf(Number(days));
  const [isRedriving, setRedriving] = useState(false);
  const { role } = useSession();
  const summary = usePolled<{ items: readonly DeadLetterCount[] }>(
    withQuery('/dead-letters/summary', { since }),
    10_000,
  );
  return (
    <>
      <PageHead
        title="Dead letters"
        lead="Events that were given up, with the reason. They are kept for 30 days and can be sent again."
      >
        {role === 'operator' ? (
          <button
            type="button"
            onClick={() => {
              setRedriving(true);
            }}
          >
            Redrive…
          </button>
        ) : null}
      </PageHead>
      {isRedriving ? (
        <RedriveDialog
          destination={destination === '' ? undefined : destination}
          reason={reason === '' ? undefined : reason}
          onClose={() => {
            setRedriving(false);
            summary.reload();
          }}
        />
      ) : null}
      <div class="tools">
        <Choice
          label="Time"
          values={spans}
          chosen={days}
          onChoose={(span) => {
            setQuery({ days: span });
          }}
        />
        <SearchField
          label="Destination id"
          value={destination}
          onSearch={(text) => {
            setQuery({ destination: text, reason: undefined });
          }}
        />
      </div>
      <Shown of={summary}>
        {({ items }) => (
          <Groups items={items} days={days} destination={destination} reason={reason} />
        )}
      </Shown>
      <Section
        title="Samples"
        aside={
          destination === '' && reason === '' ? undefined : (
            <button
              type="button"
              class="plain"
              onClick={() => {
                setQuery({ destination: undefined, reason: undefined });
              }}
            >
              Show all again
            </button>
          )
        }
      >
        <Samples destination={destination} reason={reason} since={since} />
      </Section>
    </>
  );
}

const shownGroups = 100;

function Groups({
  items,
  days,
  destination,
  reason,
}: {
  readonly items: readonly DeadLetterCount[];
  readonly days: Span;
  readonly destination: string;
  readonly reason: string;
}): JSX.Element {
  const groups = groupsOf(items).filter(
    (group) => destination === '' || group.destination === destination,
  );
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  const open = groups.reduce((sum, group) => sum + group.open, 0);
  if (groups.length === 0)
    return (
      <Nothing title="No dead letters in this time.">
        {destination === ''
          ? 'Every event was delivered, or is still being tried.'
          : 'No event of this destination was given up.'}
      </Nothing>
    );
  const list = dayList(Number(days));
  const most = Math.max(...groups.flatMap((group) => [...group.days.values()]));
  return (
    <>
      <p class="sum">
        <strong>{counted(open, 'open event')}</strong>, never sent again, of {count(total)}; by
        destination and reason
        {groups.length > shownGroups ? `; the ${shownGroups} largest groups are shown` : ''}
      </p>
      <Table
        caption="Dead letters by destination and reason, the most first"
        rows={groups.slice(0, shownGroups)}
        keyOf={(group) => `${group.destination} ${group.reason}`}
        classOf={(group) =>
          group.reason === reason && group.destination === destination ? 'linked chosen' : 'linked'
        }
        asCards
        columns={[
          {
            title: 'Destination',
            kind: 'name',
            cell: (group) => (
              <a
                class="row-link"
                href={withQuery('/dead-letters', {
                  destination: group.destination,
                  reason: group.reason,
                  days,
                })}
              >
                <Id text={group.destination} />
              </a>
            ),
          },
          {
            title: 'Reason',
            kind: 'wide',
            cell: (group) => (
              <>
                <strong>
                  <Data text={group.reason} />
                </strong>
                <span class="under">{deadLetterMeaning(group.reason)}</span>
              </>
            ),
          },
          {
            title: list.length === 1 ? 'Today' : `${dayText(list[0] ?? '')} to today`,
            cell: (group) => <Days days={list} counts={group.days} most={most} />,
          },
          { title: 'Events', kind: 'number', cell: (group) => count(group.total) },
          { title: 'Open', kind: 'number', cell: (group) => count(group.open) },
        ]}
      />
    </>
  );
}

function Samples({
  destination,
  reason,
  since,
}: {
  readonly destination: string;
  readonly reason: string;
  readonly since: string;
}): JSX.Element {
  const question = withQuery('/dead-letters', {
    destination: given(destination),
    reason: given(reason),
    since,
    limit: 25,
  });
  const selection = useLetterSelection('events');
  const paging = usePaging(question);
  const { cursor } = paging;
  const letters = usePolled<Page<DeadLetter>>(
    cursor === undefined ? question : `${question}&cursor=${encodeURIComponent(cursor)}`,
    10_000,
  );
  return (
    <Shown of={letters}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Nothing title="There is nothing to show." />
        ) : (
          <>
            {selection.bar}
            <Table
              caption="Dead letters, the newest first"
              rows={items}
              keyOf={({ place }) => place}
              columns={[
                ...selection.columns,
                ...letterColumns({ isLinked: true, hasDestination: true, isForCustomer: false }),
              ]}
              asCards
            />
            <Pager paging={paging} next={next} label="Pages of dead letters" />
          </>
        )
      }
    </Shown>
  );
}

function groupsOf(items: readonly DeadLetterCount[]): readonly Group[] {
  const byKey = Map.groupBy(items, ({ destination, reason }) =>
    JSON.stringify([destination, reason]),
  );
  return [...byKey.values()]
    .flatMap((counts): Group[] => {
      const [first] = counts;
      if (first === undefined) return [];
      const days = new Map(counts.map((each) => [each.day, each.count]));
      const total = counts.reduce((sum, each) => sum + each.count, 0);
      const open = counts.reduce((sum, each) => sum + each.open, 0);
      return [{ destination: first.destination, reason: first.reason, days, total, open }];
    })
    .sort((a, b) => b.total - a.total);
}
