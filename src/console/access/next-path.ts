const base = 'http://console.invalid';

/**
 * The page of this console to go to after a log-in, whatever was given.
 * @param given the query's `next`, which anybody can have put into a link
 */
export function nextPath(given: unknown): string {
  const url = typeof given === 'string' && given.startsWith('/') ? URL.parse(given, base) : null;
  if (url?.origin !== base) return '/';
  const path = `${url.pathname}${url.search}${url.hash}`;
  // `/.//elsewhere.example` becomes `//elsewhere.example`, which browsers take for a host.
  if (path.startsWith('//')) return '/';
  return /^\/(?:login|logout|l|api)(?:[/?#]|$)/.test(path) ? '/' : path;
}
