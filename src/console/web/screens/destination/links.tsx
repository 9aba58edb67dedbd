import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LinkRow, MadeLink } from '../../../api/answers/actions.ts';
import type { DestinationDetail } from '../../../api/answers/destinations.ts';
import type { Page } from '../../../api/answers/shapes.ts';
import { post, Problem } from '../../api.ts';
import { encoded } from '../../navigation.ts';
import { Id, Time, Who } from '../../parts/data.tsx';
import { Dialog } from '../../parts/controls.tsx';
import { ProblemNote, Shown } from '../../parts/notes.tsx';
import { usePolled } from '../../polled.ts';
import { useSession } from '../../session.ts';

/** Links that show a customer this destination: those that work, and how to make and end them. */
export function LinksDialog({
  destination,
  onClose,
}: {
  readonly destination: DestinationDetail;
  readonly onClose: () => void;
}): JSX.Element {
  const { csrf } = useSession();
  const [expires, setExpires] = useState('7d');
  const [bodies, setBodies] = useState(false);
  const [made, setMade] = useState<MadeLink>();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const links = usePolled<Page<LinkRow>>('/links');
  const act = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
      links.reload();
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error), ''));
    }
    setBusy(false);
  };
  const make = (): Promise<void> =>
    act(async () => {
      const path = `/destinations/${encoded(destination.id)}/links`;
      setMade(await post<MadeLink>(path, csrf, { expires, bodies }));
    });
  const revoke = (id: string): Promise<void> =>
    act(async () => {
      await post(`/links/${encoded(id)}/revoke`, csrf);
    });
  return (
    <Dialog title="Links for the customer" onClose={onClose}>
      <p>
        Anyone with a link sees this destination, and nothing else, until it expires or is revoked.
      </p>
      {made === undefined ? (
        <p>
          <label>
            It works for{' '}
            <select
              value={expires}
              onChange={({ currentTarget }) => {
                setExpires(currentTarget.value);
              }}
            >
              {['1h', '1d', '7d', '30d', '90d'].map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>{' '}
          <label>
            <input
              type="checkbox"
              checked={bodies}
              onChange={({ currentTarget }) => {
                setBodies(currentTarget.checked);
              }}
            />{' '}
            shows bodies of events
          </label>
        </p>
      ) : (
        <p role="status">
          Copy it now, because nothing shows it again:{' '}
          <Id text={`${location.origin}${made.path}`} />
        </p>
      )}
      <Shown of={links}>
        {({ items }) => (
          <LinkList
            links={items.filter((link) => link.destination === destination.id)}
            isBusy={isBusy}
            onRevoke={revoke}
          />
        )}
      </Shown>
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
        {made === undefined ? (
          <button type="button" class="primary" disabled={isBusy} onClick={() => void make()}>
            Make a link
          </button>
        ) : null}
      </div>
    </Dialog>
  );
}

/** Revoking is asked for twice, because nothing brings a link back. */
function LinkList({
  links,
  isBusy,
  onRevoke,
}: {
  readonly links: readonly LinkRow[];
  readonly isBusy: boolean;
  readonly onRevoke: (id: string) => Promise<void>;
}): JSX.Element {
  const [asked, setAsked] = useState<string>();
  if (links.length === 0) return <p class="quiet">No link works now.</p>;
  return (
    <ul class="test-answers">
      {links.map(({ id, until, bodies, by, name }) => (
        <li key={id}>
          <Id text={id} /> ends <Time at={until} />
          {bodies ? ', with bodies' : ''}, made by <Who user={by} name={name} />{' '}
          {asked === id ? (
            <button type="button" disabled={isBusy} onClick={() => void onRevoke(id)}>
              End it for everybody who has it
            </button>
          ) : (
            <button
              type="button"
              aria-label={`Revoke the link ${id}…`}
              onClick={() => {
                setAsked(id);
              }}
            >
              Revoke…
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
