import { createHash } from 'node:crypto';
import path from 'node:path';
import { loopHeader } from '../../event/headers.ts';

const unitsS = { s: 1, m: 60, h: 3_600 } as const;

/** `100/s`, `30/m` or `5/h` in events per second; undefined for anything else and for zero. */
export function parseRate(text: string): number | undefined {
  const match = /^([1-9]\d{0,8})\/([smh])$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) / unitsS[match[2] as keyof typeof unitsS];
}

/** The rate of a destination's limit can count these in the place of events. */
export type CountedBesideEvents = 'requests';

export interface CountedRate {
  readonly perSecond: number;
  readonly of?: CountedBesideEvents;
}

/** `10 requests/s`, or a rate of events as `parseRate` reads it. */
export function parseCountedRate(text: string): CountedRate | undefined {
  const [, count, unit = ''] = /^(\d+) requests(\/.)$/.exec(text) ?? [];
  const perSecond = parseRate(count === undefined ? text : count + unit);
  if (perSecond === undefined) return undefined;
  return count === undefined ? { perSecond } : { perSecond, of: 'requests' };
}

/** The shortest spelling that is read as the same rate: 0.5 becomes `30/m`. */
export function formatRate(perSecond: number, of?: CountedBesideEvents): string {
  const counted = of === undefined ? '' : ` ${of}`;
  for (const unit of ['s', 'm'] as const) {
    const count = Math.round(perSecond * unitsS[unit]);
    if (count / unitsS[unit] === perSecond) return `${count}${counted}/${unit}`;
  }
  return `${Math.round(perSecond * unitsS.h)}${counted}/h`;
}

/**
 * The text that is shown for a secret URL: its origin, and a hash by which two of them differ, e.g.
 * `https://hooks.example.com/#1f4d9a03`. No configured URL has a `#`.
 */
export function shownUrl(url: string): string {
  const hash = createHash('sha256').update(url).digest('hex').slice(0, 8);
  return `${new URL(url).origin}/#${hash}`;
}

/** A secret URL as it is stored: the text that is shown for it, and its ciphertext. */
interface SealedUrl {
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

/** Modes that say how a connection is protected; `require` encrypts, and verifies nothing. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof sslModes)[number];

/** Modes that would also do without encryption, and one of Node's library that verifies nothing. */
const like: Readonly<Record<string, SslMode>> = {
  allow: 'require',
  prefer: 'require',
  'no-verify': 'require',
};

/** The mode that a URL asks for; undefined where it says nothing, or something else. */
export function sslModeOf(url: string): SslMode | undefined {
  const given = new URLSearchParams(url.split(/\?(.*)/s)[1]).get('sslmode');
  if (given === null) return undefined;
  return like[given] ?? sslModes.find((mode) => mode === given);
}

/** Why this cannot be the URL of a PostgreSQL database; undefined if it can. Never repeats it: it holds a password. */
export function postgresUrlProblem(url: string): string | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(url))
    return 'must be a URL such as postgres://user:password@host:5432/database';
  // Without a host, which then is a parameter.
  if (!URL.canParse(url.replace('@/', '@host/')))
    return 'must be a valid URL; in a user name or password, special characters are written as %40 for @, %2F for /, %23 for #';
  if (/[?&]sslmode=/.test(url) && sslModeOf(url) === undefined)
    return `must have as sslmode one of ${sslModes.join(', ')}`;
  return undefined;
}

/**
 * Header names that a resource must not set, in lower case: those that the pipeline sets itself, and
 * those that belong to one connection and not to the request (RFC 9110 7.6.1), with `Expect`, which
 * undici refuses to send.
 */
export const reservedHeaders: readonly string[] = [
  'content-type',
  'user-agent',
  'x-signature',
  loopHeader.toLowerCase(),
  'content-length',
  'host',
  'connection',
  'transfer-encoding',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
];

/** Says whether Standard Webhooks sets the header; reserved only for destinations that sign by it. */
export function isStandardHeader(name: string): boolean {
  return ['webhook-id', 'webhook-timestamp', 'webhook-signature'].includes(name.toLowerCase());
}

/** Why a header of this name cannot be configured; undefined if it can. */
export function headerNameProblem(name: string): string | undefined {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/.test(name))
    return "must be a header name: up to 256 letters, digits and !#$%&'*+-.^_`|~, without spaces";
  if (reservedHeaders.includes(name.toLowerCase()))
    return `is a reserved header, set by the pipeline or by the connection; reserved are ${reservedHeaders.join(', ')}`;
  return undefined;
}

/** Why this cannot be a header's value; undefined if it can. Never repeats the value. */
export function headerValueProblem(value: string): string | undefined {
  if (/[\r\n]/.test(value)) return 'must not contain a line break (CR or LF)';
  if (value.includes('\0')) return 'must not contain NUL';
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
    return 'must contain printable latin-1 characters only, because that is all HTTP can carry';
  return undefined;
}

/** Says whether a path is inside a folder by its name. Links may lead elsewhere. */
export function isInside(folder: string, file: string): boolean {
  const way = path.relative(folder, path.resolve(folder, file));
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}
