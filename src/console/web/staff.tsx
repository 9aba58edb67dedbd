import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Session } from '../api/answers/deployment.ts';
import { printable } from '../../printable.ts';
import { decoded, type Place } from './navigation.ts';
import { Concerns } from './parts/concerns.tsx';
import { Brand, type Screens } from './parts/frame.tsx';
import { Glyph } from './parts/glyph.tsx';
import { Nothing } from './parts/notes.tsx';
import { PageHead } from './parts/page.tsx';
import { AudiencesPage } from './screens/audiences.tsx';
import { AuditPage } from './screens/audit.tsx';
import { ConfigurationPage } from './screens/configuration.tsx';
import { Actions } from './screens/destination/actions.tsx';
import { DestinationPage } from './screens/destination/page.tsx';
import { DestinationsPage } from './screens/destinations.tsx';
import { EventPage } from './screens/event.tsx';
import { DeadLettersPage, RejectedPage } from './screens/letters.tsx';
import { NoticesPage } from './screens/notices.tsx';
import { PipelinePage } from './screens/pipeline.tsx';
import { RunsPage } from './screens/runs.tsx';

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

interface Given {
  readonly session: Session;
  readonly place: Place;
}

export const staffScreens: Screens = { Bar: StaffBar, Screen: StaffScreen };

function StaffBar({ session, place: { path } }: Given): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    setOpen(false);
  }, [path]);
  return (
    <>
      <div class="bar-top">
        <Brand />
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
      </div>
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
      <div class={isOpen ? 'who open' : 'who'}>
        {session.isOpen ? (
          <p>Open to this computer only: nobody logs in.</p>
        ) : (
          <p>
            <bdi class="who-name">{printable(session.user)}</bdi>
            <br />
            {session.role}
            {' · '}
            <a href="/logout">Log out</a>
          </p>
        )}
        <p>Postrider {session.version}</p>
      </div>
    </>
  );
}

function StaffScreen({ session, place }: Given): JSX.Element {
  return (
    <>
      <Concerns />
      <AtPlace session={session} place={place} />
    </>
  );
}

function AtPlace({ session, place }: Given): JSX.Element {
  const { path } = place;
  const destination = /^\/destinations\/([^/]+)$/.exec(path)?.[1];
  if (destination !== undefined)
    return (
      <DestinationPage
        id={decoded(destination)}
        list={{ href: '/', title: 'Destinations' }}
        actions={(shown, reload) =>
          session.role === 'operator' ? <Actions destination={shown} onDone={reload} /> : null
        }
      />
    );
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
