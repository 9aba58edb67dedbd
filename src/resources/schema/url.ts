/** Why this cannot be a webhook's URL; undefined if it can. Never repeats the URL: it may hold a token. */
export function urlProblem(url: string): string | undefined {
  if (!/^https?:\/\/[^/\\]/i.test(url)) return 'must be a URL that starts with http:// or https://';
  // The URL parser would drop these silently, and requests would go to another URL than the given one.
  // eslint-disable-next-line no-control-regex -- refusing control characters is the point
  if (/[\x00-\x20\x7f]/.test(url)) return 'must not contain spaces or control characters';
  if (!URL.canParse(url)) return 'must be a URL with a valid host and port';
  const { username, password } = new URL(url);
  if (username !== '' || password !== '')
    return 'must not contain a user name or password; configure an Authorization header instead';
  if (url.includes('#')) return 'must not contain a fragment (#…), which HTTP never sends';
  return undefined;
}
