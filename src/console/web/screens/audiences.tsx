import type { JSX } from 'preact';
import { printable } from '../../../printable.ts';
import type { AudienceRow, SyncRun } from '../../api/answers/deployment.ts';
import type { Page } from '../../api/answers/shapes.ts';
import { count, counted, milliseconds } from '../format.ts';
import { Data, Id, None, Time } from '../parts/data.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { PageHead } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { Badge } from '../parts/state.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';

export function AudiencesPage(): JSX.Element {
  const paging = usePaging('');
  const query = paging.cursor === undefined ? '' : `?cursor=${encodeURIComponent(paging.cursor)}`;
  const audiences = usePolled<Page<AudienceRow>>(`/audiences${query}`, 10_000);
  return (
    <>
      <PageHead
        title="Audiences"
        lead="The traits that destinations have of users, and what the last syncs did."
      />
      <Shown of={audiences}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Nothing title="There are no audiences yet.">
              Describe one in a resource file, apply it, and run{' '}
              <code>postrider audience-sync ID</code>.
            </Nothing>
          ) : (
            <>
              <div class="stories">
                {items.map((audience) => (
                  <Audience key={audience.id} audience={audience} />
                ))}
              </div>
              <Pager paging={paging} next={next} label="Pages of audiences" />
            </>
          )
        }
      </Shown>
    </>
  );
}

const outcomes = {
  done: { word: 'Done', tone: 'good', shape: 'check' },
  unfinished: { word: 'Unfinished', tone: 'warn', shape: 'wait' },
  refused: { word: 'Refused', tone: 'bad', shape: 'off' },
  failed: { word: 'Failed', tone: 'bad', shape: 'cross' },
} as const;

function Audience({ audience }: { readonly audience: AudienceRow }): JSX.Element {
  const { id, told, syncs, resource } = audience;
  const [last] = syncs;
  return (
    <article class="story panel">
      <h2>
        <Id text={id} />
        {last === undefined ? (
          <Badge tone="idle" shape="wait" word="Never synced" />
        ) : (
          <Badge {...outcomes[last.outcome]} />
        )}
        {last === undefined ? null : (
          <span class="quiet story-at">
            <Time at={last.startedAt} />
          </span>
        )}
      </h2>
      {resource === undefined ? (
        <p>It is not configured any more; users have its trait still.</p>
      ) : null}
      {told.map(({ source, trait, members, destinations }) => (
        <p key={`${source} ${trait}`}>
          <strong>{counted(members, 'user')}</strong> of <Id text={source} /> have{' '}
          <Id text={trait} /> at{' '}
          {destinations === undefined ? (
            'all destinations'
          ) : (
            <Data text={destinations.join(', ')} />
          )}
          .
        </p>
      ))}
      {last?.reason === undefined ? null : (
        <p class="bad-text">
          <Data text={last.reason} />
        </p>
      )}
      {syncs.length === 0 ? null : (
        <details>
          <summary>The last {counted(syncs.length, 'sync')}</summary>
          <Table
            caption={`Syncs of ${printable(id)}, the newest first`}
            rows={syncs}
            keyOf={({ sync }) => sync}
            columns={syncColumns}
          />
        </details>
      )}
    </article>
  );
}

const syncColumns: readonly Column<SyncRun>[] = [
  { title: 'Started', kind: 'name', cell: ({ startedAt }) => <Time at={startedAt} /> },
  {
    title: 'Outcome',
    cell: ({ outcome, reason, action }) => (
      <>
        <Badge {...outcomes[outcome]} />
        {action === 'sync' ? null : <Data text={action} />}
        {reason === undefined ? null : (
          <span class="under">
            <Data text={reason} />
          </span>
        )}
      </>
    ),
  },
  { title: 'Members', kind: 'number', cell: ({ members }) => count(members) },
  { title: 'Added', kind: 'number', cell: ({ added }) => shown(added) },
  { title: 'Removed', kind: 'number', cell: ({ removed }) => shown(removed) },
  { title: 'Changed', kind: 'number', cell: ({ changed }) => shown(changed) },
  { title: 'Took', kind: 'number', cell: ({ durationMs }) => milliseconds(durationMs) },
];

function shown(number: number): JSX.Element {
  return number === 0 ? <None /> : <>{count(number)}</>;
}
