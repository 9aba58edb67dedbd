import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RejectedCall, RejectedCount } from '../../api/answers/events.ts';
import type { Page } from '../../api/answers/shapes.ts';
import { given, withQuery } from '../api.ts';
import { count, counted } from '../format.ts';
import { setQuery, type Place } from '../navigation.ts';
import { Data, Id, Lines, None, Time } from '../parts/data.tsx';
import { dayList, Days, firstDayOf } from '../parts/days.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { PageHead, Section } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { Table } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { useSession } from '../session.ts';
import { SentAgainNote } from './letter-columns.tsx';
import { useLetterSelection } from './letter-selection.tsx';
import { rejectMeaning } from './reasons.ts';
import { RedriveDialog } from './redrive-dialog.tsx';

const days = 7;

export function RejectedPage({ place }: { readonly place: Place }): JSX.Element {
  const since = firstDayOf(days);
  const source = place.query.get('source') ?? undefined;
  const reason = place.query.get('reason') ?? undefined;
  const { role } = useSession();
  const [isSending, setSending] = useState(false);
  const summary = usePolled<{ items: readonly RejectedCount[] }>(
    withQuery('/rejected/summary', { since }),
    10_000,
  );
  return (
    <>
      <PageHead
        title="Rejected calls"
        lead="Calls that could not be routed. Fix the cause, then send them again."
      >
        {role === 'operator' ? (
          <button
            type="button"
            onClick={() => {
              setSending(true);
            }}
          >
            Send again…
          </button>
        ) : null}
      </PageHead>
      {isSending ? (
        <RedriveDialog
          of="calls"
          source={given(source ?? '')}
          reason={reason}
          onClose={() => {
            setSending(false);
            summary.reload();
          }}
        />
      ) : null}
      <Shown of={summary}>
        {({ items }) => <Groups items={items} source={source} reason={reason} />}
      </Shown>
      <Section
        title="Calls"
        aside={
          source === undefined && reason === undefined ? undefined : (
            <button
              type="button"
              class="plain"
              onClick={() => {
                setQuery({ source: undefined, reason: undefined });
              }}
            >
              Show all again
            </button>
          )
        }
      >
        <Calls source={source} reason={reason} />
      </Section>
    </>
  );
}

interface Group {
  readonly source: string;
  readonly reason: string;
  readonly days: ReadonlyMap<string, number>;
  readonly total: number;
  /** Calls that were never sent again. */
  readonly open: number;
}

function groupsOf(items: readonly RejectedCount[]): readonly Group[] {
  const byKey = Map.groupBy(items, ({ source, reason }) => JSON.stringify([source, reason]));
  return [...byKey.values()]
    .flatMap((counts): Group[] => {
      const [first] = counts;
      if (first === undefined) return [];
      const own = new Map(counts.map((each) => [each.day, each.count]));
      const total = counts.reduce((sum, each) => sum + each.count, 0);
      const open = counts.reduce((sum, each) => sum + each.open, 0);
      return [{ source: first.source, reason: first.reason, days: own, total, open }];
    })
    .sort((a, b) => b.total - a.total);
}

function Groups({
  items,
  source,
  reason,
}: {
  readonly items: readonly RejectedCount[];
  readonly source: string | undefined;
  readonly reason: string | undefined;
}): JSX.Element {
  const groups = groupsOf(items);
  if (groups.length === 0)
    return <Nothing title="No call was rejected.">All calls that came could be routed.</Nothing>;
  const list = dayList(days);
  const most = Math.max(...groups.flatMap((group) => [...group.days.values()]));
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  const open = groups.reduce((sum, group) => sum + group.open, 0);
  return (
    <>
      <p class="sum">
        <strong>{counted(open, 'open call')}</strong>, never sent again, of {count(total)}; by
        source and reason
      </p>
      <Table
        caption="Rejected calls by source and reason, the most first"
        rows={groups}
        keyOf={(group) => `${group.source} ${group.reason}`}
        classOf={(group) =>
          group.source === source && group.reason === reason ? 'linked chosen' : 'linked'
        }
        asCards
        columns={[
          {
            title: 'Source',
            kind: 'name',
            cell: (group) => (
              <a
                class="row-link"
                href={withQuery('/rejected', { source: group.source, reason: group.reason })}
              >
                {group.source === '' ? 'no known source' : <Id text={group.source} />}
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
                <span class="under">{rejectMeaning(group.reason)}</span>
              </>
            ),
          },
          {
            title: `Last ${days} days`,
            cell: (group) => <Days days={list} counts={group.days} most={most} />,
          },
          { title: 'Calls', kind: 'number', cell: (group) => count(group.total) },
          { title: 'Open', kind: 'number', cell: (group) => count(group.open) },
        ]}
      />
    </>
  );
}

function Calls({
  source,
  reason,
}: {
  readonly source: string | undefined;
  readonly reason: string | undefined;
}): JSX.Element {
  const selection = useLetterSelection('calls');
  const question = withQuery('/rejected', { source, reason });
  const paging = usePaging(question);
  const calls = usePolled<Page<RejectedCall>>(
    withQuery('/rejected', { source, reason, cursor: paging.cursor, limit: 25 }),
    10_000,
  );
  return (
    <Shown of={calls}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Nothing title="There is nothing to show." />
        ) : (
          <>
            {selection.bar}
            <Table
              caption="Rejected calls, the newest first"
              rows={items}
              keyOf={({ place }) => place}
              asCards
              columns={[
                ...selection.columns,
                { title: 'When', kind: 'name', cell: ({ at }) => <Time at={at} /> },
                {
                  title: 'Source',
                  cell: (call) =>
                    call.source === undefined ? <None /> : <Id text={call.source} />,
                },
                {
                  title: 'Reason',
                  kind: 'wide',
                  cell: (call) => (
                    <>
                      <strong>
                        <Data text={call.reason} />
                      </strong>
                      <span class="said">
                        <Data text={call.detail} />
                      </span>
                      <SentAgainNote again={call.sentAgain} />
                      {call.sample === '' ? null : (
                        <details>
                          <summary>The call, {counted(call.bytes, 'byte')}</summary>
                          <Lines value={call.sample} />
                        </details>
                      )}
                    </>
                  ),
                },
                {
                  title: 'Arrived at',
                  cell: ({ origin }) => (
                    <Id text={`${origin.topic} ${origin.partition}:${origin.offset}`} />
                  ),
                },
              ]}
            />
            <Pager paging={paging} next={next} label="Pages of rejected calls" />
          </>
        )
      }
    </Shown>
  );
}
