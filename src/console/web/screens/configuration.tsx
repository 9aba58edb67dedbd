import type { JSX } from 'preact';
import type { Configuration } from '../../api/answers/deployment.ts';
import { given, withQuery } from '../api.ts';
import { count } from '../format.ts';
import { setQuery, type Place } from '../navigation.ts';
import { Data, Id, Lines } from '../parts/data.tsx';
import { Glyph } from '../parts/glyph.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { Choice, SearchField } from '../parts/controls.tsx';
import { PageHead, Section } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { usePolled } from '../polled.ts';

const rowsAPage = 100;

export function ConfigurationPage({ place }: { readonly place: Place }): JSX.Element {
  const search = place.query.get('search') ?? '';
  const kind = place.query.get('kind') ?? '';
  const paging = usePaging(`${kind} ${search}`);
  const { cursor } = paging;
  const question = { search: given(search), kind: given(kind), cursor, limit: rowsAPage };
  const configuration = usePolled<Configuration>(withQuery('/configuration', question), 15_000);
  return (
    <>
      <PageHead
        title="Configuration"
        lead="What is in force, as every role follows it. Secrets are masked."
      />
      <Shown of={configuration}>
        {({ items, next, kinds, unreadable, unreadableTotal }) => (
          <>
            <Unreadable unreadable={unreadable} total={unreadableTotal} />
            <Resources items={items} kinds={kinds} search={search} kind={kind} />
            <Pager paging={paging} next={next} label="Pages of resources" />
          </>
        )}
      </Shown>
    </>
  );
}

function Unreadable({
  unreadable,
  total,
}: {
  readonly unreadable: Configuration['unreadable'];
  readonly total: number;
}): JSX.Element | null {
  if (unreadable.length === 0) return null;
  return (
    <Section title="Not readable">
      <div class="note note-bad">
        <Glyph shape="lock" />
        <ul>
          {unreadable.map(({ name, reason }) => (
            <li key={name}>
              <strong>
                <Id text={name} />
              </strong>
              : <Data text={reason} />
            </li>
          ))}
          {total > unreadable.length ? <li>and {count(total - unreadable.length)} more</li> : null}
        </ul>
      </div>
    </Section>
  );
}

interface Named {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly isOfApi: boolean;
  readonly resource: object;
}

function Resources({
  items,
  kinds,
  search,
  kind,
}: Pick<Configuration, 'items' | 'kinds'> & {
  readonly search: string;
  readonly kind: string;
}): JSX.Element {
  const found = items.map(namedOf);
  const total = Object.values(kinds).reduce((sum, each) => sum + each, 0);
  if (total === 0)
    return (
      <Nothing title="Nothing is configured yet.">
        Write resources to a file and run <code>postrider apply -f FILE</code>.
      </Nothing>
    );
  return (
    <>
      <div class="tools">
        <Choice
          label="Kind"
          values={[
            ['', `All ${count(total)}`],
            ...Object.keys(kinds)
              .sort()
              .map((each) => [each, each] as const),
          ]}
          chosen={kind}
          onChoose={(value) => {
            setQuery({ kind: value });
          }}
        />
        <SearchField
          label="Search by name or id"
          value={search}
          onSearch={(text) => {
            setQuery({ search: text });
          }}
        />
      </div>
      {found.length === 0 ? <Nothing title="Nothing matches." /> : null}
      <ul class="resources panel">
        {found.map((each) => (
          <li key={`${each.kind} ${each.id}`}>
            <details>
              <summary>
                <span class="resource-kind">{each.kind}</span> <Id text={each.id} />{' '}
                <span class="quiet">
                  <Data text={each.name} />
                  {each.isOfApi ? ' · managed by the API' : null}
                </span>
              </summary>
              <Lines value={each.resource} />
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}

function namedOf(resource: object): Named {
  const { kind, id, name, managedBy } = resource as Record<string, unknown>;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    kind: text(kind),
    id: text(id),
    name: text(name),
    isOfApi: managedBy === 'api',
    resource,
  };
}
