import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Page } from '../../api/answers/shapes.ts';
import { given, withQuery } from '../api.ts';
import { count, counted, dayText } from '../format.ts';
import { setQuery, type Place } from '../navigation.ts';
import { Data, Id } from '../parts/data.tsx';
import { dayList, Days, firstDayOf } from '../parts/bars.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { Choice, SearchField } from '../parts/controls.tsx';
import { PageHead, Section } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { Table } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { useSession } from '../session.ts';
import { deadLetters, rejectedCalls, type LetterKind } from './letter-kinds.tsx';
import { useLetterSelection } from './letter-selection.tsx';
import { RedriveDialog } from './redrive-dialog.tsx';

export function DeadLettersPage({ place }: { readonly place: Place }): JSX.Element {
  return <LettersPage kind={deadLetters} place={place} />;
}

export function RejectedPage({ place }: { readonly place: Place }): JSX.Element {
  return <LettersPage kind={rejectedCalls} place={place} />;
}

const spans = [
  ['1', 'Today'],
  ['7', '7 days'],
  ['30', '30 days'],
] as const;

/** The part of the letters that the address chooses. */
interface Chosen {
  /** A destination or source; empty: calls of no known source; undefined: all. */
  readonly whose: string | undefined;
  readonly reason: string | undefined;
  readonly days: (typeof spans)[number][0];
}

/** Counts by day, single letters, and the ways to send them again. */
function LettersPage<Letter extends { readonly place: string }>({
  kind,
  place: { query },
}: {
  readonly kind: LetterKind<Letter>;
  readonly place: Place;
}): JSX.Element {
  const whose = query.get(kind.whose) ?? undefined;
  const reason = query.get('reason') ?? undefined;
  const days = spans.find(([span]) => span === query.get('days'))?.[0] ?? '7';
  const since = firstDayOf(Number(days));
  const [isSending, setSending] = useState(false);
  const { role } = useSession();
  const summary = usePolled<{ items: readonly LetterCount[] }>(
    withQuery(`${kind.path}/summary`, { since }),
    10_000,
  );
  const chosen = { whose, reason, days };
  return (
    <>
      <PageHead title={kind.title} lead={kind.lead}>
        {role === 'operator' ? (
          <button
            type="button"
            onClick={() => {
              setSending(true);
            }}
          >
            {kind.sendAgain}
          </button>
        ) : null}
      </PageHead>
      {isSending ? (
        <RedriveDialog
          of={kind.of}
          destination={kind.whose === 'destination' ? given(whose ?? '') : undefined}
          source={kind.whose === 'source' ? given(whose ?? '') : undefined}
          reason={reason}
          onClose={() => {
            setSending(false);
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
          label={kind.whose === 'destination' ? 'Destination id' : 'Source id'}
          value={whose ?? ''}
          onSearch={(text) => {
            setQuery({ [kind.whose]: text, reason: undefined });
          }}
        />
      </div>
      <Shown of={summary}>
        {({ items }) => <Groups kind={kind} items={items} chosen={chosen} />}
      </Shown>
      <Section
        title={kind.listTitle}
        aside={
          whose === undefined && reason === undefined ? undefined : (
            <button
              type="button"
              class="plain"
              onClick={() => {
                setQuery({ [kind.whose]: undefined, reason: undefined });
              }}
            >
              Show all again
            </button>
          )
        }
      >
        <Letters kind={kind} chosen={chosen} since={since} />
      </Section>
    </>
  );
}

/** A count of dead letters names a destination, one of rejected calls a source. */
interface LetterCount {
  readonly destination?: string;
  readonly source?: string;
  readonly reason: string;
  readonly day: string;
  readonly count: number;
  readonly open: number;
}

interface Group {
  readonly whose: string;
  readonly reason: string;
  readonly days: ReadonlyMap<string, number>;
  readonly total: number;
  /** Letters that were never sent again. */
  readonly open: number;
}

const shownGroups = 100;

function Groups<Letter>({
  kind,
  items,
  chosen,
}: {
  readonly kind: LetterKind<Letter>;
  readonly items: readonly LetterCount[];
  readonly chosen: Chosen;
}): JSX.Element {
  const { whose, reason, days } = chosen;
  const groups = groupsOf(items, kind.whose).filter(
    (group) => whose === undefined || group.whose === whose,
  );
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  const open = groups.reduce((sum, group) => sum + group.open, 0);
  if (groups.length === 0)
    return (
      <Nothing title={kind.none}>{whose === undefined ? kind.noneOfAny : kind.noneOfOne}</Nothing>
    );
  const list = dayList(Number(days));
  const most = Math.max(...groups.flatMap((group) => [...group.days.values()]));
  return (
    <>
      <p class="sum">
        <strong>{counted(open, `open ${kind.noun}`)}</strong>, never sent again, of {count(total)};
        by {kind.whose} and reason
        {groups.length > shownGroups ? `; the ${shownGroups} largest groups are shown` : ''}
      </p>
      <Table
        caption={`${kind.title} by ${kind.whose} and reason, the most first`}
        rows={groups.slice(0, shownGroups)}
        keyOf={(group) => `${group.whose} ${group.reason}`}
        classOf={(group) =>
          group.reason === reason && group.whose === whose ? 'linked chosen' : 'linked'
        }
        asCards
        columns={[
          {
            title: kind.whose === 'destination' ? 'Destination' : 'Source',
            kind: 'name',
            cell: (group) => (
              <a
                class="row-link"
                href={withQuery(kind.path, {
                  [kind.whose]: group.whose,
                  reason: group.reason,
                  days,
                })}
              >
                {group.whose === '' ? 'no known source' : <Id text={group.whose} />}
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
                <span class="under">{kind.meaning(group.reason)}</span>
              </>
            ),
          },
          {
            title: list.length === 1 ? 'Today' : `${dayText(list[0] ?? '')} to today`,
            cell: (group) => <Days days={list} counts={group.days} most={most} />,
          },
          {
            title: kind.of === 'events' ? 'Events' : 'Calls',
            kind: 'number',
            cell: (group) => count(group.total),
          },
          { title: 'Open', kind: 'number', cell: (group) => count(group.open) },
        ]}
      />
    </>
  );
}

function groupsOf(
  items: readonly LetterCount[],
  whose: LetterKind<never>['whose'],
): readonly Group[] {
  const byKey = Map.groupBy(items, (each) => JSON.stringify([each[whose], each.reason]));
  return [...byKey.values()]
    .flatMap((counts): Group[] => {
      const [first] = counts;
      if (first === undefined) return [];
      const days = new Map(counts.map((each) => [each.day, each.count]));
      const total = counts.reduce((sum, each) => sum + each.count, 0);
      const open = counts.reduce((sum, each) => sum + each.open, 0);
      return [{ whose: first[whose] ?? '', reason: first.reason, days, total, open }];
    })
    .sort((a, b) => b.total - a.total);
}

function Letters<Letter extends { readonly place: string }>({
  kind,
  chosen: { whose, reason },
  since,
}: {
  readonly kind: LetterKind<Letter>;
  readonly chosen: Chosen;
  readonly since: string;
}): JSX.Element {
  const question = { [kind.whose]: whose, reason, since, limit: 25 };
  const selection = useLetterSelection(kind.of);
  const paging = usePaging(withQuery(kind.path, question));
  const letters = usePolled<Page<Letter>>(
    withQuery(kind.path, { ...question, cursor: paging.cursor }),
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
              caption={`${kind.title}, the newest first`}
              rows={items}
              keyOf={({ place }) => place}
              columns={[...selection.columns, ...kind.columns]}
              asCards
            />
            <Pager paging={paging} next={next} label={`Pages of ${kind.title.toLowerCase()}`} />
          </>
        )
      }
    </Shown>
  );
}
