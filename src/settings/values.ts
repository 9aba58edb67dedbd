import ipaddr from 'ipaddr.js';
import { parseDuration } from '../duration.ts';

/** Parsers of one setting's text: the value, or undefined where the text is not allowed. */

export function tiers(given: string): readonly number[] | undefined {
  const valuesMs = list(parseDuration)(given);
  if (valuesMs === undefined || valuesMs.length === 0) return undefined;
  const ascending = valuesMs.every((valueMs, i) => valueMs > (valuesMs[i - 1] ?? 0));
  return ascending ? valuesMs : undefined;
}

/** Comma-separated, blanks around the items ignored; undefined if any item is not allowed. */
export function list<T>(
  parseItem: (item: string) => T | undefined,
): (given: string) => readonly T[] | undefined {
  return (given) => {
    const items = given === '' ? [] : given.split(',').map((item) => parseItem(item.trim()));
    return items.includes(undefined) ? undefined : (items as T[]);
  };
}

export function oneOf<const T extends string>(
  allowed: readonly T[],
): (given: string) => T | undefined {
  return (given) => allowed.find((value) => value === given);
}

export function matching(pattern: RegExp): (given: string) => string | undefined {
  return (given) => (pattern.test(given) ? given : undefined);
}

export function text(given: string): string {
  return given;
}

export function boolean(given: string): boolean | undefined {
  return given === 'true' ? true : given === 'false' ? false : undefined;
}

export function hostPort(given: string): string | undefined {
  const port = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:,/]+):(\d{1,5})$/.exec(given)?.[1];
  return Number(port) >= 1 && Number(port) <= 65_535 ? given : undefined;
}

export function key(given: string): Buffer | undefined {
  const bytes = Buffer.from(given, 'base64');
  return bytes.length === 32 ? bytes : undefined;
}

export function network(given: string): string | undefined {
  return ipaddr.isValidCIDR(given) ? given : undefined;
}

/** A proxy's URL. It has nothing but a login, in which special characters are percent-encoded, a host and a port. */
export function proxyUrl(given: string): string | undefined {
  const url = URL.parse(given);
  if (url?.protocol !== 'http:' || url.pathname !== '/' || url.search + url.hash !== '')
    return undefined;
  try {
    decodeURIComponent(url.username + url.password);
    return given;
  } catch {
    return undefined;
  }
}

/** A name, which stands for all below it too, with or without a dot before it; an address or a network. */
export function nameOrNetwork(given: string): string | undefined {
  if (ipaddr.isValid(given) || ipaddr.isValidCIDR(given)) return given;
  return /^\.?[\p{L}\d_](?:[\p{L}\d_.-]*[\p{L}\d_])?$/u.test(given) ? given : undefined;
}

/** `*`, or what browsers send: no path, no slash at the end. `*.` before a host stands for every name below it. */
export function origin(given: string): string | undefined {
  const example = given.replace('://*.', '://any.');
  const isOrigin = URL.parse(example)?.origin === example && !example.includes('*');
  return given === '*' || isOrigin ? given : undefined;
}

/** An origin as in `origin`, but not all of them: a page in anybody's frame can be clicked on unseen. */
export function frameAncestor(given: string): string | undefined {
  return given === '*' ? undefined : origin(given) && issuerUrl(given);
}

/** Shown in logs, so without a password. */
export function webUrl(given: string): string | undefined {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username === '' && url.password === '' ? given : undefined;
}

/** The origin of pages, whose paths are their own: no path, and no slash at the end is needed. */
export function webOrigin(given: string): string | undefined {
  const url = webUrl(given) === undefined ? null : URL.parse(given);
  return url !== null && url.href === `${url.origin}/` ? url.origin : undefined;
}

/** Tokens and secrets go there, so in plain text on this machine only. */
export function issuerUrl(given: string): string | undefined {
  const isLocal = /^http:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?=[:/]|$)/i.test(given);
  return isLocal || /^https:/i.test(given) ? webUrl(given) : undefined;
}
