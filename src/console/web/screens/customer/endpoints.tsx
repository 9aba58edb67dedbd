import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DestinationList } from '../../../api/answers/destinations.ts';
import { given, withQuery } from '../../api.ts';
import { count } from '../../format.ts';
import { setQuery, urlOf, usePlace } from '../../navigation.ts';
import { SearchField } from '../../parts/controls.tsx';
import { Lazily } from '../../parts/lazily.tsx';
import { Nothing, Shown } from '../../parts/notes.tsx';
import { PageHead } from '../../parts/page.tsx';
import { Pager, usePaging } from '../../parts/pager.tsx';
import { lookOf } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { usePolled } from '../../polled.ts';
import { useSession, useWords } from '../../session.ts';
import { filled, t } from '../../texts/texts.ts';
import { destinationColumns } from '../destination-columns.tsx';

const rowsAPage = 25;

// Whoever only looks needs none of it.
const againDialog = (): Promise<typeof import('../manage/again-dialog.tsx')> =>
  import('../manage/again-dialog.tsx');

/** All destinations of the customer, to whom they are endpoints. */
export function EndpointsPage(): JSX.Element {
  const { manage, customer } = useSession();
  const { letters } = useWords();
  const search = usePlace().query.get('search') ?? '';
  const paging = usePaging(search);
  const { cursor } = paging;
  const list = usePolled<DestinationList>(
    withQuery('/destinations', { search: given(search), cursor, limit: rowsAPage }),
  );
  const words = t.list;
  const total = list.answer?.overview.total ?? 0;
  return (
    <>
      <PageHead title={t.endpoints} lead={words.lead}>
        {manage === true ? (
          <>
            {customer === undefined || total === 0 ? null : (
              <SendAgain customer={customer} onDone={list.reload} />
            )}
            <a class="button primary" href={urlOf.add}>
              {words.add}
            </a>
          </>
        ) : null}
      </PageHead>
      {total <= rowsAPage && search === '' ? null : (
        <div class="tools">
          <SearchField
            label={words.search}
            value={search}
            onSearch={(text) => {
              setQuery({ search: text });
            }}
          />
        </div>
      )}
      <Shown of={list}>
        {({ items, next, counts }) => {
          if (items.length === 0)
            return search === '' ? (
              <Nothing title={words.empty}>
                {manage === true ? words.emptyManaged : words.emptyRead}
              </Nothing>
            ) : (
              <Nothing title={words.notFound} />
            );
          const first = paging.page * rowsAPage + 1;
          const found = Object.values(counts).reduce((sum, each) => sum + each, 0);
          const position = {
            first: count(first),
            last: count(first + items.length - 1),
            all: count(found),
          };
          return (
            <>
              <Table
                caption={words.caption}
                columns={destinationColumns(words.destination, letters)}
                rows={items}
                keyOf={({ id }) => id}
                classOf={({ state }) => `linked ${lookOf(state).tone}`}
                asCards
              />
              <Pager
                paging={paging}
                next={next}
                label={words.pages}
                position={filled(words.position, position)}
              />
            </>
          );
        }}
      </Shown>
    </>
  );
}

/** Sends what was given up at any of the endpoints once more. */
function SendAgain({
  customer,
  onDone,
}: {
  readonly customer: string;
  readonly onDone: () => void;
}): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        onClick={() => {
          setOpen(true);
        }}
      >
        {t.manage.again}
      </button>
      {isOpen ? (
        <Lazily load={againDialog}>
          {({ AgainDialog }) => (
            <AgainDialog
              whose={{ customer }}
              onClose={() => {
                setOpen(false);
                onDone();
              }}
            />
          )}
        </Lazily>
      ) : null}
    </>
  );
}
