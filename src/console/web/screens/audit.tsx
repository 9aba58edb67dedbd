import type { JSX } from 'preact';
import type { Page } from '../../api/answers/shapes.ts';
import type { AuditEntry } from '../../../event/audit-entry.ts';
import { withQuery } from '../api.ts';
import { urlOf } from '../navigation.ts';
import { Data, Id, None, Time, Who } from '../parts/data.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { PageHead } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { Table } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { doneText } from './run-progress.tsx';

export function AuditPage(): JSX.Element {
  const paging = usePaging('');
  const entries = usePolled<Page<AuditEntry>>(
    withQuery('/audit', { cursor: paging.cursor }),
    10_000,
  );
  return (
    <>
      <PageHead title="Audit" lead="What people and commands did: who, what and when." />
      <Shown of={entries}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Nothing title="Nobody has done anything yet.">
              Log-ins, links, and what is changed here or by commands are listed here.
            </Nothing>
          ) : (
            <>
              <Table
                caption="What was done, the newest first"
                rows={items}
                keyOf={({ id }) => id}
                asCards
                columns={[
                  { title: 'When', kind: 'name', cell: ({ at }) => <Time at={at} /> },
                  { title: 'Who', cell: ({ user, name }) => <Who user={user} name={name} /> },
                  { title: 'What', cell: (entry) => <Data text={whatText(entry)} /> },
                  {
                    title: 'Destination',
                    cell: ({ destination }) =>
                      destination === undefined ? (
                        <None />
                      ) : (
                        <a href={urlOf.destination(destination)}>
                          <Id text={destination} />
                        </a>
                      ),
                  },
                  {
                    title: 'Details',
                    kind: 'wide',
                    cell: (entry) => {
                      const text = detailText(entry);
                      return text === '' ? <None /> : <Data text={text} />;
                    },
                  },
                ]}
              />
              <Pager paging={paging} next={next} label="Pages of the audit" />
            </>
          )
        }
      </Shown>
    </>
  );
}

const ways = { 'command-line': 'by command', api: 'by the API' } as const;

function whatText({ action, via, outcome, began }: AuditEntry): string {
  const how = via === undefined ? action : `${action}, ${ways[via]}`;
  const end = outcome ?? (began === undefined ? undefined : 'ended');
  return end === undefined ? how : `${how}: ${end}`;
}

function detailText({ action, sent, detail }: AuditEntry): string {
  const done = sent === undefined ? [] : [doneText(action, sent)];
  return [...done, ...(detail === undefined ? [] : [detail])].join('; ');
}
