import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Session } from '../api/answers/deployment.ts';
import { useLoaded } from './parts/lazily.tsx';
import { ProblemNote, Shown } from './parts/notes.tsx';
import { hasComeBack, linkId, urlOf, usePlace, type Place } from './navigation.ts';
import { usePolled } from './polled.ts';
import { brand, logoUrl, SessionContext } from './session.ts';
import { t, useLanguage } from './texts/texts.ts';

/** The screens of staff, or those of customers, with what their bar holds. Either comes without the other. */
export interface Screens {
  readonly Bar: (given: { readonly session: Session; readonly place: Place }) => JSX.Element;
  readonly Screen: (given: { readonly session: Session; readonly place: Place }) => JSX.Element;
}

const kinds = {
  staff: async (): Promise<Screens> => (await import('./staff.tsx')).staffScreens,
  customer: async (): Promise<Screens> => (await import('./customer.tsx')).customerScreens,
} as const;
type Kind = keyof typeof kinds;

const sessionCheckMs = 60_000;

export function App(): JSX.Element {
  return <Pages key={useLanguage()} />;
}

function Pages(): JSX.Element {
  const place = usePlace();
  const session = usePolled<Session>('/session', sessionCheckMs);
  const kind = kindOf(session.answer);
  const { loaded: screens, problem } = useLoaded(kinds[kind]);
  useHeadingFocus(place.path);
  return (
    <>
      <a class="skip" href="#main">
        {t.skip}
      </a>
      <div class={`frame frame-${kind}${isFramed ? ' framed' : ''}`}>
        <header class="bar">
          {screens === undefined || session.answer === undefined ? (
            <div class="bar-top">
              <Brand />
            </div>
          ) : (
            <screens.Bar session={session.answer} place={place} />
          )}
        </header>
        <main id="main" tabIndex={-1}>
          {problem === undefined ? null : <ProblemNote problem={problem} />}
          <Shown of={session}>
            {(answer) => (
              <SessionContext.Provider value={answer}>
                {screens === undefined ? (
                  <p class="loading" role="status">
                    {t.loading}
                  </p>
                ) : (
                  <screens.Screen session={answer} place={place} />
                )}
              </SessionContext.Provider>
            )}
          </Shown>
        </main>
      </div>
    </>
  );
}

/** These pages are a part of a page of the vendor, which has its own frame around them. */
const isFramed: boolean = window.parent !== window;

/** Until the session is known, as the address says, so that nothing is waited for. */
function kindOf(session: Session | undefined): Kind {
  if (session === undefined) return linkId === undefined ? 'staff' : 'customer';
  return session.role === 'customer' ? 'customer' : 'staff';
}

/** The vendor's name, with their logo, or with our mark for staff. */
export function Brand(): JSX.Element {
  return (
    <a class="brand" href={urlOf.home}>
      {logoUrl === undefined ? (
        <span class="brand-mark" aria-hidden="true">
          <svg viewBox="0 0 32 32" width="22" height="22">
            <path d="M7 10h9M5 16h9M7 22h9M18 8l8 8-8 8" />
          </svg>
        </span>
      ) : (
        <img class="brand-logo" src={logoUrl} alt="" />
      )}
      <bdi>{brand}</bdi>
    </a>
  );
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
