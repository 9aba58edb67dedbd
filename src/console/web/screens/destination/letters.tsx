import type { JSX } from 'preact';
import type { DeadLetter } from '../../../api/answers/events.ts';
import type { Page } from '../../../api/answers/shapes.ts';
import { urlOf } from '../../navigation.ts';
import { Nothing, Shown } from '../../parts/notes.tsx';
import { Section } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { usePolled } from '../../polled.ts';
import { mayOpenEvents, useSession, useWords } from '../../session.ts';
import { letterColumns } from '../letter-kinds.tsx';

const shown = 10;

export function Letters({
  path,
  destination,
}: {
  readonly path: string;
  readonly destination: string;
}): JSX.Element {
  const session = useSession();
  const words = useWords();
  const letters = usePolled<Page<DeadLetter>>(`${path}/dead-letters?limit=${shown}`, 10_000);
  const isCustomer = session.role === 'customer';
  return (
    <Section
      title={words.letters}
      aside={isCustomer ? undefined : <a href={urlOf.deadLetters(destination)}>See all of them</a>}
    >
      <Shown of={letters}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing title="No event of it was given up." />
          ) : (
            <Table
              caption={`${words.letters}, the last ${items.length}`}
              columns={letterColumns({
                isLinked: mayOpenEvents(session),
                hasDestination: false,
                isForCustomer: isCustomer,
              })}
              rows={items}
              keyOf={({ place }) => place}
              asCards
            />
          )
        }
      </Shown>
    </Section>
  );
}
