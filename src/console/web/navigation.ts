import { useEffect, useState } from 'preact/hooks';

/** The place that the address names, without a library: the address is all the state that a page shares. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

/** A customer's pages are behind `/c/<id of the link>`: a browser may have opened several links. */
const [base = '', customersLink] = /^\/c\/([\w-]+)/.exec(location.pathname) ?? [];

/** The id of the link by which a customer came; undefined: staff. */
export const linkId: string | undefined = customersLink;

const moved = new EventTarget();

function here(): Place {
  const path = location.pathname.slice(base.length);
  return { path: path === '' ? '/' : path, query: new URLSearchParams(location.search) };
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const update = (): void => {
      setPlace(here());
    };
    moved.addEventListener('moved', update);
    return () => {
      moved.removeEventListener('moved', update);
    };
  }, []);
  return place;
}

let isMoved = false;

/** Somebody has followed a link of this page. */
export function hasMoved(): boolean {
  return isMoved;
}

/** The state that the browser's history keeps of a place. */
interface Memory {
  /** Its scroll position when it was left. */
  readonly top?: number;
  /** The cursors of its page of a list, and of the pages before. */
  readonly cursors?: readonly string[];
}

function memory(): Memory {
  return (history.state as Memory | null) ?? {};
}

let isBack = false;

/** Somebody came here by the browser's own buttons: to a place that was there before. */
export function hasComeBack(): boolean {
  return isBack;
}

export function go(url: string): void {
  isMoved = true;
  isBack = false;
  history.replaceState({ ...memory(), top: scrollY }, '');
  history.pushState(null, '', url);
  moved.dispatchEvent(new Event('moved'));
}

/** The cursors of a list up to its present page; an address that somebody has sent has the last one only. */
export function cursorsHere(): readonly string[] {
  const cursor = new URLSearchParams(location.search).get('cursor');
  const { cursors = [] } = memory();
  if (cursor === null) return [];
  return cursors.at(-1) === cursor ? cursors : [cursor];
}

/**
 * Another page of a list is no place to come back to either.
 * @param page from 0 on
 */
export function turnTo(cursors: readonly string[], page: number): void {
  history.replaceState({ ...memory(), cursors }, '');
  setQuery({ cursor: cursors.at(-1), page: page === 0 ? undefined : String(page + 1) });
}

/** A filter is no place to come back to: it replaces the address. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes))
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  const text = query.toString();
  history.replaceState(memory(), '', location.pathname + (text === '' ? '' : `?${text}`));
  moved.dispatchEvent(new Event('moved'));
}

/** Links are plain `<a href>`; those to pages of the console do not load it anew. */
export function followLinks(): void {
  history.scrollRestoration = 'manual';
  addEventListener('popstate', () => {
    isBack = true;
    moved.dispatchEvent(new Event('moved'));
    const { top = 0 } = memory();
    // Once the place has been rendered from what is remembered of it.
    requestAnimationFrame(() => {
      requestAnimationFrame(() => {
        scrollTo({ top });
      });
    });
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.origin !== location.origin) return;
    if (link.target !== '' || link.hasAttribute('download')) return;
    if (link.hash !== '' && link.pathname === location.pathname) return;
    if (/^\/(api|login|logout)(\/|$)/.test(link.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}

/** Half an emoji, which anybody may put into an id, is no text that a URL can have. */
export function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** A part of an address as it was before `encoded`. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const urlOf = {
  get home(): string {
    return base === '' ? '/' : base;
  },
  destination: (id: string): string => `${base}/destinations/${encoded(id)}`,
  get add(): string {
    return `${base}/new`;
  },
  /** @param destination customers see the event's story at this one alone */
  event: (messageId: string, user?: string, destination?: string): string => {
    const ofUser = user === undefined ? '' : `&user=${encoded(user)}`;
    const at =
      base === '' || destination === undefined ? '' : `&destination=${encoded(destination)}`;
    return `${base}/events?message=${encoded(messageId)}${ofUser}${at}`;
  },
  deadLetters: (destination?: string): string =>
    `/dead-letters${destination === undefined ? '' : `?destination=${encoded(destination)}`}`,
};
