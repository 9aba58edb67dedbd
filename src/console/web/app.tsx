import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Session } from '../api/answers/deployment.ts';
import { Brand, isFramed, type Screens } from './parts/frame.tsx';
import { useLoaded } from './parts/lazily.tsx';
import { ProblemNote, Shown } from './parts/notes.tsx';
import { hasComeBack, linkId, usePlace } from './navigation.ts';
import { usePolled } from './polled.ts';
import { SessionContext } from './session.ts';
import { t, useLanguage } from './texts/texts.ts';

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

/** Until the session is known, as the address says, so that nothing is waited for. */
function kindOf(session: Session | undefined): Kind {
  if (session === undefined) return linkId === undefined ? 'staff' : 'customer';
  return session.role === 'customer' ? 'customer' : 'staff';
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
