import type { JSX } from 'preact';
import type { Page } from '../../api/answers/shapes.ts';
import type { RunRow } from '../../api/answers/actions.ts';
import { withQuery } from '../api.ts';
import { count } from '../format.ts';
import { urlOf } from '../navigation.ts';
import { Copy } from '../parts/controls.tsx';
import { Data, Id, Time, Who } from '../parts/data.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { PageHead } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { Table } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { doneText, outcomeParts } from './run-progress.tsx';

const actions: Partial<Record<RunRow['action'], string>> = {
  redrive: 'Dead letters sent again',
  resume: 'Resumed',
  'redrive-rejected': 'Rejected calls sent again',
  'delete-user': 'Users deleted',
};

const states: Readonly<Record<RunRow['state'], string>> = {
  running: 'Running',
  done: 'Ended',
  failed: 'Stopped before its end',
  refused: 'Refused',
  unfinished: 'No end is known: it still runs elsewhere, or was cut off',
};

export function RunsPage(): JSX.Element {
  const paging = usePaging('');
  const path = withQuery('/runs', { cursor: paging.cursor, limit: 20 });
  const runs = usePolled<Page<RunRow>>(path, 5_000);
  return (
    <>
      <PageHead
        title="Runs"
        lead="Redrives, resumes and deletions of users, from here and by commands, and what became of their events."
      />
      <Shown of={runs}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Nothing title="Nothing was sent again yet.">
              Redrives, resumes and deletions of users are listed here for a year.
            </Nothing>
          ) : (
            <>
              <Table
                caption="Runs, the newest first"
                rows={items}
                keyOf={({ id }) => id}
                asCards
                columns={[
                  { title: 'Begun', kind: 'name', cell: ({ at }) => <Time at={at} /> },
                  { title: 'What', kind: 'wide', cell: (run) => <What run={run} /> },
                  {
                    title: 'Who',
                    cell: ({ user, name, via }) => (
                      <>
                        <Who user={user} name={name} />
                        {via === undefined ? null : <span class="under">by command</span>}
                      </>
                    ),
                  },
                  { title: 'How far', cell: (run) => <HowFar run={run} /> },
                  { title: 'Outcome', kind: 'wide', cell: (run) => <Became run={run} /> },
                ]}
              />
              <Pager paging={paging} next={next} label="Pages of runs" />
            </>
          )
        }
      </Shown>
    </>
  );
}

const mostNamed = 5;

function What({ run }: { readonly run: RunRow }): JSX.Element {
  const { id, action, destinations = [], chosen } = run;
  const more = destinations.length - mostNamed;
  return (
    <>
      <strong>{actions[action] ?? action}</strong>
      <span class="under">
        <Id text={id} /> <Copy text={id} what="the id of the run" />
      </span>
      {destinations.slice(0, mostNamed).map((destination) => (
        <span class="under" key={destination}>
          <a href={urlOf.destination(destination)}>
            <Id text={destination} />
          </a>
        </span>
      ))}
      {more > 0 ? <span class="under">and {count(more)} more</span> : null}
      {chosen === undefined ? null : (
        <span class="under">
          <Data text={chosen} />
        </span>
      )}
    </>
  );
}

function HowFar({ run }: { readonly run: RunRow }): JSX.Element {
  const { state, endedAt, action, sent } = run;
  return (
    <>
      {states[state]}
      {endedAt === undefined ? null : (
        <>
          {' '}
          <Time at={endedAt} />
        </>
      )}
      {sent === undefined ? null : (
        <span class="under">
          {state === 'unfinished' ? 'at least ' : ''}
          {doneText(action, sent)}
        </span>
      )}
    </>
  );
}

function Became({ run }: { readonly run: RunRow }): JSX.Element {
  const { outcome, detail } = run;
  const parts =
    outcome === undefined ? [] : outcomeParts(outcome).filter(([, events]) => events > 0);
  return (
    <>
      {parts.map(([title, events]) => (
        <span class="under" key={title}>
          {title}: {count(events)}
        </span>
      ))}
      {detail === undefined ? null : (
        <span class="under">
          <Data text={detail} />
        </span>
      )}
    </>
  );
}
