import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { get, Problem } from './api.ts';
import { hasComeBack } from './navigation.ts';

/** The last answer, and the last failure. */
export interface Polled<Answer> {
  readonly answer: Answer | undefined;
  /** Why the last request failed; what `answer` holds is older then. */
  readonly problem: Problem | undefined;
  /** The time at which `answer` came. */
  readonly atMs: number;
  /** The answer is of another question, until the one to this comes. */
  readonly isOld: boolean;
  readonly reload: () => void;
}

interface Got<Answer> {
  readonly answer?: Answer;
  readonly problem?: Problem;
  readonly atMs: number;
  readonly path?: string;
}

/** For whoever comes back to a page: it is there at once, as it was, until what is new comes. */
const remembered = new Map<string, Got<unknown>>();
const mostRemembered = 30;

function remember(path: string, got: Got<unknown>): void {
  remembered.delete(path);
  remembered.set(path, got);
  const [oldest] = remembered.keys();
  if (oldest !== undefined && remembered.size > mostRemembered) remembered.delete(oldest);
}

function recalled<Answer>(path: string | undefined): Got<Answer> {
  const known = path === undefined || !hasComeBack() ? undefined : remembered.get(path);
  return (known as Got<Answer> | undefined) ?? { atMs: 0 };
}

/**
 * Asks again and again while the page is seen. What is shown stays until there is something newer, so nothing
 * flickers, and whoever has the focus keeps it although rows change places.
 * @param path undefined: nothing is asked
 */
export function usePolled<Answer>(path: string | undefined, everyMs = 5_000): Polled<Answer> {
  const [got, setGot] = useState<Got<Answer>>(() => recalled(path));
  const [round, setRound] = useState(0);
  const keepFocus = useKeptFocus();
  useEffect(() => {
    if (path === undefined) return;
    const aborted = new AbortController();
    let timer: number | undefined;
    const ask = async (): Promise<void> => {
      try {
        const answer = await get<Answer>(path, aborted.signal);
        keepFocus();
        const now = { answer, atMs: Date.now(), path };
        remember(path, now);
        setGot(now);
      } catch (error) {
        if (aborted.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error), '');
        // Of another page, what was there would be taken for this one.
        setGot((before) => (before.path === path ? { ...before, problem } : { problem, atMs: 0 }));
      }
      timer = window.setTimeout(() => {
        if (document.hidden) document.addEventListener('visibilitychange', again, { once: true });
        else void ask();
      }, everyMs);
    };
    const again = (): void => void ask();
    void ask();
    return () => {
      aborted.abort();
      window.clearTimeout(timer);
      document.removeEventListener('visibilitychange', again);
    };
  }, [path, everyMs, round]);
  return {
    answer: got.answer,
    problem: got.problem,
    atMs: got.atMs,
    isOld: got.path !== path,
    reload: () => {
      setRound((before) => before + 1);
    },
  };
}

/** A browser takes the focus from an element that is put elsewhere. */
function useKeptFocus(): () => void {
  const focused = useRef<Element | null>(null);
  useLayoutEffect(() => {
    const element = focused.current;
    focused.current = null;
    if (document.activeElement !== document.body) return;
    if (element instanceof HTMLElement && element.isConnected)
      element.focus({ preventScroll: true });
  });
  return () => {
    focused.current = document.activeElement;
  };
}

let nowMs = Date.now();
const ticks = new EventTarget();
window.setInterval(() => {
  nowMs = Date.now();
  ticks.dispatchEvent(new Event('tick'));
}, 1_000);

/** For relative times: changes each second. */
export function useNowMs(): number {
  const [now, setNow] = useState(nowMs);
  useEffect(() => {
    const update = (): void => {
      setNow(nowMs);
    };
    ticks.addEventListener('tick', update);
    return () => {
      ticks.removeEventListener('tick', update);
    };
  }, []);
  return now;
}
