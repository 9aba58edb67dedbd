import type { JSX } from 'preact';
import type { Session } from '../api/answers/deployment.ts';
import { printable } from '../../printable.ts';
import { fullTime } from './format.ts';
import { decoded, linkId, urlOf, type Place } from './navigation.ts';
import { Brand, type Screens } from './parts/frame.tsx';
import { Lazily } from './parts/lazily.tsx';
import { DestinationPage } from './screens/destination/page.tsx';
import { EndpointsPage } from './screens/customer/endpoints.tsx';
import { CustomerEventPage } from './screens/found-event.tsx';
import { backUrl, mayOpenEvents } from './session.ts';
import { choose, filled, language, languages, rich, t, type Language } from './texts/texts.ts';

// Whoever only looks needs neither.
const walk = (): Promise<typeof import('./screens/manage/add-endpoint.tsx')> =>
  import('./screens/manage/add-endpoint.tsx');
const actions = (): Promise<typeof import('./screens/manage/endpoint-actions.tsx')> =>
  import('./screens/manage/endpoint-actions.tsx');

interface Given {
  readonly session: Session;
  readonly place: Place;
}

export const customerScreens: Screens = { Bar: CustomerBar, Screen: CustomerScreen };

function CustomerBar({ session: { user, until, manage } }: Given): JSX.Element {
  return (
    <>
      <div class="bar-top">
        <Brand />
        {backUrl === undefined ? null : (
          // In a frame it leads the page around it.
          <a class="back" href={backUrl} target="_top">
            {filled(t.back, { site: URL.parse(backUrl)?.host ?? backUrl })}
          </a>
        )}
      </div>
      <div class="who customer">
        <p>
          <bdi class="who-name">{printable(user)}</bdi>
          {manage === true ? ' · ' : ` · ${t.who.readOnly} · `}
          <a href={linkId === undefined ? '/logout' : `/logout?link=${linkId}`}>{t.logOut}</a>
        </p>
        {until === undefined ? null : (
          <p>{rich(t.who.until, { time: <time dateTime={until}>{fullTime(until)}</time> })}</p>
        )}
        <LanguageChoice />
      </div>
    </>
  );
}

function LanguageChoice(): JSX.Element {
  return (
    <label class="language">
      <span class="unseen">{t.language}</span>
      <select
        value={language}
        onChange={({ currentTarget }) => {
          void choose(currentTarget.value as Language);
        }}
      >
        {Object.entries(languages).map(([code, name]) => (
          <option key={code} value={code} lang={code}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Whatever the address says, the API shows a customer nothing else than the own destinations. */
function CustomerScreen({ session, place: { path, query } }: Given): JSX.Element {
  const { destination } = session;
  const message = path === '/events' ? query.get('message') : null;
  const named = destination ?? query.get('destination') ?? undefined;
  if (message !== null && named !== undefined && mayOpenEvents(session))
    return (
      <CustomerEventPage destination={named} message={message} user={query.get('user') ?? ''} />
    );
  if (destination !== undefined) return <DestinationPage id={destination} list={undefined} />;
  if (path === '/new' && session.manage === true)
    return <Lazily load={walk}>{({ AddEndpointPage }) => <AddEndpointPage />}</Lazily>;
  const opened = /^\/destinations\/([^/]+)$/.exec(path)?.[1];
  if (opened === undefined) return <EndpointsPage />;
  return (
    <DestinationPage
      id={decoded(opened)}
      list={{ href: urlOf.home, title: t.endpoints }}
      actions={(shown, reload) =>
        session.manage === true ? (
          <Lazily load={actions}>
            {({ EndpointActions }) => <EndpointActions destination={shown} onDone={reload} />}
          </Lazily>
        ) : null
      }
    />
  );
}
