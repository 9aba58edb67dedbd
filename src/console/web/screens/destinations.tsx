import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { destinationHealths } from '../../../event/destination-health.ts';
import type { DestinationList, DestinationRow, Overview } from '../../api/answers/destinations.ts';
import { orders, type Order } from '../../api/choices.ts';
import { given, withQuery } from '../api.ts';
import { count, counted } from '../format.ts';
import { setQuery, type Place } from '../navigation.ts';
import { Id, None } from '../parts/data.tsx';
import { Glyph } from '../parts/glyph.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { PageHead } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { SearchField } from '../parts/controls.tsx';
import { lookOf } from '../parts/state.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { useSession } from '../session.ts';
import { destinationColumns } from './destination-columns.tsx';
import { RedriveDialog } from './redrive-dialog.tsx';

const rowsAPage = 50;

export function DestinationsPage({ place }: { readonly place: Place }): JSX.Element {
  const search = place.query.get('search') ?? '';
  const customer = place.query.get('customer') ?? '';
  const state = place.query.get('state') ?? '';
  const order = orders.find((each) => each === place.query.get('sort')) ?? 'urgency';
  const paging = usePaging(`${state} ${order} ${customer} ${search}`);
  const { cursor } = paging;
  const list = usePolled<DestinationList>(
    withQuery('/destinations', {
      search: given(search),
      customer: given(customer),
      state: given(state),
      sort: order === 'urgency' ? undefined : order,
      cursor,
      limit: rowsAPage,
    }),
  );
  const found = list.answer === undefined ? 0 : sumOf(list.answer);
  const all = list.answer?.overview.total ?? 0;
  // Before there is anything, there is nothing to search either.
  const isUsed = all > 0 || search !== '' || customer !== '';
  return (
    <>
      <PageHead
        title="Destinations"
        lead={
          list.answer === undefined || !isUsed ? undefined : (
            <Headline overview={list.answer.overview} />
          )
        }
      />
      {isUsed ? (
        <div class="tools">
          <SearchField
            label="Search by name, id or customer"
            value={search}
            onSearch={(text) => {
              setQuery({ search: text });
            }}
          />
          {list.answer === undefined ? null : (
            <StateFilter counts={list.answer.counts} chosen={state} all={found} />
          )}
          {customer === '' ? null : <OfCustomer customer={customer} onDone={list.reload} />}
          <label class="sort">
            Sort by
            <select
              value={order}
              onChange={(event) => {
                const { value } = event.currentTarget;
                setQuery({ sort: value === 'urgency' ? undefined : value });
              }}
            >
              {orders.map((each) => (
                <option key={each} value={each}>
                  {orderNames[each]}
                </option>
              ))}
            </select>
          </label>
        </div>
      ) : null}
      <Shown of={list}>
        {({ items, next, counts, customers }) => {
          if (items.length === 0) return <NoRows search={search + customer} state={state} />;
          const total = destinationHealths.find((each) => each === state);
          const first = paging.page * rowsAPage + 1;
          const of = total === undefined ? found : counts[total];
          return (
            <>
              <Table
                caption={`Destinations, ${captions[order]}`}
                columns={columnsFor(items)}
                rows={items}
                keyOf={({ id }) => id}
                classOf={(row) => `linked ${lookOf(row.state).tone}`}
                asCards
              />
              <Pager
                paging={paging}
                next={next}
                label="Pages of destinations"
                position={`${count(first)}–${count(first + items.length - 1)} of ${count(of)}${customers === 0 || total !== undefined ? '' : `, of ${counted(customers, 'customer')}`}`}
              />
            </>
          );
        }}
      </Shown>
    </>
  );
}

/** The customer whose destinations are shown, and for operators what can be done for all of these. */
function OfCustomer({
  customer,
  onDone,
}: {
  readonly customer: string;
  readonly onDone: () => void;
}): JSX.Element {
  const { role } = useSession();
  const [isSending, setSending] = useState(false);
  return (
    <>
      <button
        type="button"
        title="Show the destinations of all customers"
        onClick={() => {
          setQuery({ customer: undefined });
        }}
      >
        Customer <Id text={customer} /> ×
      </button>
      {role === 'operator' ? (
        <button
          type="button"
          title="Send the dead letters of all destinations of this customer again"
          onClick={() => {
            setSending(true);
          }}
        >
          Redrive…
        </button>
      ) : null}
      {isSending ? (
        <RedriveDialog
          customer={customer}
          onClose={() => {
            setSending(false);
            onDone();
          }}
        />
      ) : null}
    </>
  );
}

/** With a column for customers where any of the rows has one. */
function columnsFor(rows: readonly DestinationRow[]): readonly Column<DestinationRow>[] {
  const columns = destinationColumns('Destination', 'Dead letters');
  const isOfCustomers = rows.some(({ customer }) => customer !== undefined);
  return isOfCustomers ? [...columns.slice(0, 1), customerColumn, ...columns.slice(1)] : columns;
}

const customerColumn: Column<DestinationRow> = {
  title: 'Customer',
  kind: 'lead',
  cell: ({ customer }) =>
    customer === undefined ? (
      <None />
    ) : (
      <a href={`?${new URLSearchParams({ customer }).toString()}`}>
        <Id text={customer} />
      </a>
    ),
};

const orderNames: Readonly<Record<Order, string>> = {
  urgency: 'urgency',
  'dead-letters': 'dead letters',
  waiting: 'events waiting',
  p99: 'latency, p99',
};

const captions: Readonly<Record<Order, string>> = {
  urgency: 'the worst first',
  'dead-letters': 'most dead letters first',
  waiting: 'most waiting events first',
  p99: 'the slowest first',
};

/** The summary for somebody who looks for five seconds: all destinations, whatever is searched for. */
function Headline({ overview }: { readonly overview: Overview }): JSX.Element {
  const { counts, getNothing, byOtherUrl } = overview;
  const { losing, unknown } = counts;
  const strained = counts.saturated + counts.slow + counts.limited;
  const said = [
    [getNothing, 'does not get events', 'do not get events'],
    [losing, 'loses some events', 'lose some events'],
    [byOtherUrl, 'gets events by another URL only', 'get events by another URL only'],
    [unknown, 'is not known', 'are not known'],
    [strained, 'is under strain', 'are under strain'],
  ] as const;
  const [first, ...others] = said.filter(([number]) => number > 0);
  const tone = getNothing + losing > 0 ? 'bad' : byOtherUrl + unknown > 0 ? 'warn' : 'good';
  if (first === undefined || tone === 'good')
    return (
      <p class="headline good">
        <Glyph shape="check" />
        <span>
          No destination has a problem.{others.length + strained === 0 ? '' : more(first)}
        </span>
      </p>
    );
  const [number, one, many] = first;
  return (
    <p class={`headline ${tone}`}>
      <Glyph shape={tone === 'bad' ? 'cross' : 'dot'} />
      <span>
        {counted(number, 'destination')} {number === 1 ? one : many}.
        <span class="headline-more">{others.map(more).join('')}</span>
      </span>
    </p>
  );
}

function more(said: readonly [number: number, one: string, many: string] | undefined): string {
  if (said === undefined) return '';
  const [number, one, many] = said;
  return ` ${count(number)} more ${number === 1 ? one : many}.`;
}

function StateFilter({
  counts,
  chosen,
  all,
}: {
  readonly counts: DestinationList['counts'];
  readonly chosen: string;
  readonly all: number;
}): JSX.Element {
  const shown = destinationHealths.filter((state) => counts[state] > 0 || state === chosen);
  return (
    <div class="states" role="group" aria-label="Show destinations by state">
      <button
        type="button"
        class="state"
        aria-pressed={chosen === ''}
        onClick={() => {
          setQuery({ state: undefined });
        }}
      >
        <strong>{count(all)}</strong> all
      </button>
      {shown.map((state) => {
        const { word, tone, shape, meaning } = lookOf(state);
        return (
          <button
            key={state}
            type="button"
            class={`state ${tone}`}
            title={meaning}
            aria-pressed={chosen === state}
            onClick={() => {
              setQuery({ state: chosen === state ? undefined : state });
            }}
          >
            <Glyph shape={shape} />
            <strong>{count(counts[state])}</strong> {word === 'OK' ? word : word.toLowerCase()}
          </button>
        );
      })}
    </div>
  );
}

function NoRows({
  search,
  state,
}: {
  readonly search: string;
  readonly state: string;
}): JSX.Element {
  if (search === '' && state === '')
    return (
      <Nothing title="There are no destinations yet.">
        Write one to a file and run <code>postrider apply -f FILE</code>: it appears here within
        seconds.
      </Nothing>
    );
  return (
    <Nothing title={search === '' ? 'No destination is in this state.' : 'Nothing matches.'}>
      <button
        type="button"
        onClick={() => {
          setQuery({ search: undefined, customer: undefined, state: undefined });
        }}
      >
        Show all destinations
      </button>
    </Nothing>
  );
}

function sumOf({ counts }: DestinationList): number {
  return destinationHealths.reduce((sum, state) => sum + counts[state], 0);
}
