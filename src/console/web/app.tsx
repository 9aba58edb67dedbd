import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../api/answers/deployment.ts';
import { Concerns, Nothing, Shown } from './parts/notes.tsx';
import { hasComeBack, linkId, urlOf, usePlace, type Place } from './navigation.ts';
import { fullTime } from './format.ts';
import { usePolled } from './polled.ts';
import { Glyph } from './parts/glyph.tsx';
import { PageHead } from './parts/page.tsx';
import { printable } from '../../printable.ts';
import { AudiencesPage } from './screens/audiences.tsx';
import { AuditPage } from './screens/audit.tsx';
import { ConfigurationPage } from './screens/configuration.tsx';
import { DestinationPage } from './screens/destination/page.tsx';
import { DestinationsPage } from './screens/destinations.tsx';
import { CustomerEventPage, EventPage } from './screens/event.tsx';
import { DeadLettersPage, RejectedPage } from './screens/letters.tsx';
import { NoticesPage } from './screens/notices.tsx';
import { PipelinePage } from './screens/pipeline.tsx';
import { RunsPage } from './screens/runs.tsx';
import { brand, mayOpenEvents, SessionContext } from './session.ts';

const sections = [
  { path: '/', title: 'Destinations' },
  { path: '/events', title: 'Events' },
  { path: '/dead-letters', title: 'Dead letters' },
  { path: '/runs', title: 'Runs' },
  { path: '/pipeline', title: 'Pipeline' },
  { path: '/rejected', title: 'Rejected calls' },
  { path: '/audiences', title: 'Audiences' },
  { path: '/configuration', title: 'Configuration' },
  { path: '/notices', title: 'Notices' },
  { path: '/audit', title: 'Audit' },
] as const;

const sessionCheckMs = 60_000;

export function App(): JSX.Element {
  const place = usePlace();
  const session = usePolled<Session>('/session', sessionCheckMs);
  useHeadingFocus(place.path);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <div class="frame">
        <Bar session={session.answer} path={place.path} />
        <main id="main" tabIndex={-1}>
          <Shown of={session}>
            {(answer) => (
              <SessionContext.Provider value={answer}>
                {answer.role === 'customer' ? null : <Concerns />}
                <Screen place={place} session={answer} />
              </SessionContext.Provider>
            )}
          </Shown>
        </main>
      </div>
    </>
  );
}

function Bar({
  session,
  path,
}: {
  readonly session: Session | undefined;
  readonly path: string;
}): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    setOpen(false);
  }, [path]);
  const isCustomer = session?.role === 'customer';
  return (
    <header class="bar">
      <div class="bar-top">
        <a class="brand" href={urlOf.home}>
          <span class="brand-mark" aria-hidden="true">
            <svg viewBox="0 0 32 32" width="22" height="22">
              <path d="M7 10h9M5 16h9M7 22h9M18 8l8 8-8 8" />
            </svg>
          </span>
          <bdi>{brand}</bdi>
        </a>
        {isCustomer ? null : (
          <button
            type="button"
            class="menu-button"
            aria-expanded={isOpen}
            aria-controls="sections"
            onClick={() => {
              setOpen(!isOpen);
            }}
          >
            <Glyph shape="menu" />
            Menu
          </button>
        )}
      </div>
      {isCustomer || session === undefined ? null : (
        <nav id="sections" class={isOpen ? 'sections open' : 'sections'} aria-label="Sections">
          <ul>
            {sections.map((section) => (
              <li key={section.path}>
                <a
                  href={section.path}
                  aria-current={isWithin(path, section.path) ? 'page' : undefined}
                >
                  {section.title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      )}
      {session === undefined ? null : <Who session={session} isOpen={isOpen} />}
    </header>
  );
}

function Who({
  session,
  isOpen,
}: {
  readonly session: Session;
  readonly isOpen: boolean;
}): JSX.Element {
  const { user, role, until } = session;
  if (role === 'customer')
    return (
      <div class="who customer">
        <p>
          <bdi class="who-name">{printable(user)}</bdi>
          {' · read only · '}
          <a href={linkId === undefined ? '/logout' : `/logout?link=${linkId}`}>Log out</a>
        </p>
        {until === undefined ? null : (
          <p>
            Your link works until <time dateTime={until}>{fullTime(until)}</time>.
          </p>
        )}
      </div>
    );
  return (
    <div class={isOpen ? 'who open' : 'who'}>
      {session.isOpen ? (
        <p>Open to this computer only: nobody logs in.</p>
      ) : (
        <p>
          <bdi class="who-name">{printable(user)}</bdi>
          <br />
          {role}
          {' · '}
          <a href="/logout">Log out</a>
        </p>
      )}
      <p>Postrider {session.version}</p>
    </div>
  );
}

function Screen({
  place,
  session,
}: {
  readonly place: Place;
  readonly session: Session;
}): JSX.Element {
  const { path } = place;
  // Whatever the address says: the API shows a customer nothing else.
  if (session.role === 'customer') {
    const { destination = '' } = session;
    const message = path === '/events' ? place.query.get('message') : null;
    if (message === null || !mayOpenEvents(session)) return <DestinationPage id={destination} />;
    const user = place.query.get('user') ?? '';
    return <CustomerEventPage destination={destination} message={message} user={user} />;
  }
  const destination = /^\/destinations\/([^/]+)$/.exec(path)?.[1];
  if (destination !== undefined) return <DestinationPage id={decoded(destination)} />;
  switch (path) {
    case '/':
    case '/destinations':
      return <DestinationsPage place={place} />;
    case '/events':
      return <EventPage place={place} />;
    case '/dead-letters':
      return <DeadLettersPage place={place} />;
    case '/runs':
      return <RunsPage />;
    case '/pipeline':
      return <PipelinePage />;
    case '/rejected':
      return <RejectedPage place={place} />;
    case '/audiences':
      return <AudiencesPage />;
    case '/configuration':
      return <ConfigurationPage place={place} />;
    case '/notices':
      return <NoticesPage />;
    case '/audit':
      return <AuditPage />;
    default:
      return (
        <>
          <PageHead title="No such page" />
          <Nothing title="There is no page at this address.">
            <a href="/">See all destinations</a>
          </Nothing>
        </>
      );
  }
}

function isWithin(path: string, section: string): boolean {
  if (section === '/') return path === '/' || path.startsWith('/destinations');
  return path === section;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** After a link, as where a browser loads the page. */
function useHeadingFocus(path: string): void {
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    if (!hasComeBack()) scrollTo({ top: 0 });
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  }, [path]);
}
