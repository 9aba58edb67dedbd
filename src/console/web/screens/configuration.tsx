import type { JSX } from 'preact';
import type { Configuration } from '../../api/model.ts';
import { count, counted } from '../format.ts';
import { setQuery, type Place } from '../navigation.ts';
import { Data, Id, Lines } from '../parts/data.tsx';
import { Glyph } from '../parts/glyph.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { Choice, PageHead, Section } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { usePolled } from '../polled.ts';

const shownResources = 100;

export function ConfigurationPage({ place }: { readonly place: Place }): JSX.Element {
  const configuration = usePolled<Configuration>('/configuration', 15_000);
  const search = place.query.get('search') ?? '';
  const kind = place.query.get('kind') ?? '';
  return (
    <>
      <PageHead
        title="Configuration"
        lead="What is in force, as every role follows it. Secrets are masked."
      />
      <Shown of={configuration}>
        {({ resources, unreadable }) => (
          <>
            <Unreadable unreadable={unreadable} />
            <Resources resources={resources} search={search} kind={kind} />
          </>
        )}
      </Shown>
    </>
  );
}

function Unreadable({
  unreadable,
}: {
  readonly unreadable: Configuration['unreadable'];
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
        </ul>
      </div>
    </Section>
  );
}

interface Named {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly resource: object;
}

function Resources({
  resources,
  search,
  kind,
}: {
  readonly resources: readonly object[];
  readonly search: string;
  readonly kind: string;
}): JSX.Element {
  const named = resources.map(namedOf);
  const kinds = [...new Set(named.map((each) => each.kind))].sort();
  const sought = search.toLowerCase();
  const found = named.filter(
    (each) =>
      (kind === '' || each.kind === kind) &&
      `${each.id} ${each.name}`.toLowerCase().includes(sought),
  );
  if (resources.length === 0)
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
            ['', `All ${count(named.length)}`],
            ...kinds.map((each) => [each, each] as const),
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
        {found.slice(0, shownResources).map((each) => (
          <li key={`${each.kind} ${each.id}`}>
            <details>
              <summary>
                <span class="resource-kind">{each.kind}</span> <Id text={each.id} />{' '}
                <span class="quiet">
                  <Data text={each.name} />
                </span>
              </summary>
              <Lines value={each.resource} />
            </details>
          </li>
        ))}
      </ul>
      {found.length > shownResources ? (
        <p class="quiet more">
          {counted(found.length - shownResources, 'more resource')}: search to see them.
        </p>
      ) : null}
    </>
  );
}

function namedOf(resource: object): Named {
  const { kind, id, name } = resource as Record<string, unknown>;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return { kind: text(kind), id: text(id), name: text(name), resource };
}
