import { createHash } from 'node:crypto';

/**
 * What is shown of a secret URL: its origin, and a hash by which two of them differ, e.g.
 * `https://hooks.example.com/#1f4d9a03`. No configured URL has a `#`.
 */
export function shownUrl(url: string): string {
  const hash = createHash('sha256').update(url).digest('hex').slice(0, 8);
  return `${new URL(url).origin}/#${hash}`;
}

/** What is shown of a secret URL, and behind it its ciphertext, as it is stored. */
export interface SealedUrl {
  readonly shown: string;
  readonly ciphertext: string;
}

/** Undefined for a URL that is not sealed, as the URLs of all notice hooks were stored once. */
export function parseSealedUrl(url: string): SealedUrl | undefined {
  const [, shown, ciphertext] = /^(https?:\/\/[^/#]+\/#[0-9a-f]{8})\.(.+)$/.exec(url) ?? [];
  return shown === undefined || ciphertext === undefined ? undefined : { shown, ciphertext };
}

/** Why this cannot be the URL of a stored webhook, which may be sealed. */
export function storedUrlProblem(url: string): string | undefined {
  const sealed = parseSealedUrl(url);
  return urlProblem(sealed === undefined ? url : sealed.shown.replace(/#.*$/, ''));
}

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
  if (/\/#[0-9a-f]{8}(?:\.|$)/.test(url))
    return 'is what `get` prints instead of a secret URL; give the URL itself, e.g. as ${NAME}';
  if (url.includes('#')) return 'must not contain a fragment (#…), which HTTP never sends';
  return undefined;
}
