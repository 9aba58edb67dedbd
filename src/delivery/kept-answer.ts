import { shortened } from '../event/last-answer.ts';
import { shownUrl } from '../resources/schema/texts.ts';

/** The part of an answer that is no delivery which is kept, for people. */
export interface KeptAnswer {
  /** The beginning of its body; absent: it has none, or none is kept. */
  readonly body?: Buffer;
  /** The body went on. */
  readonly isCut: boolean;
  readonly headers: AnswerHeaders;
}

/** Values by lower-case name. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/**
 * Headers that tell who answered, or why, or by which number the endpoint's people find the request in their logs.
 * `set-cookie` is not among them, nor anything else that may hold a secret.
 */
const toldHeaders = [
  'content-type',
  'server',
  'www-authenticate',
  'location',
  'request-id',
  'x-request-id',
  'x-correlation-id',
  'x-amzn-requestid',
  'x-amz-cf-id',
  'cf-ray',
] as const;

const mostValueCharacters = 200;

/** The endpoint whose answer is told. */
interface Teller {
  readonly url: string;
  readonly isUrlSecret: boolean;
}

export function toldHeadersOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  teller: Teller,
): AnswerHeaders {
  const told: Record<string, string> = {};
  for (const name of toldHeaders) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    const shown = name === 'location' ? shownLocation(text, teller) : text;
    told[name] = shortened(shown, mostValueCharacters);
  }
  return told;
}

/**
 * The absolute URL that an answer leads to. Its credentials and query may be secret, here as in a destination's own
 * URL; where that is secret as a whole, so is this one.
 */
function shownLocation(location: string, { url, isUrlSecret }: Teller): string {
  const to = URL.canParse(location, url) ? new URL(location, url) : undefined;
  if (to === undefined || !/^https?:$/.test(to.protocol)) return '(no URL that could be used)';
  if (isUrlSecret) return shownUrl(to.href);
  return to.origin + to.pathname + (to.search === '' ? '' : '?…');
}

/**
 * The rest of the sentence `answered 301`, for operators: a redirect is never followed.
 * @param location as `toldHeadersOf` shows it
 */
export function redirectHint(status: number, location: string): string {
  if (!location.startsWith('http')) return '';
  const moved = status === 301 || status === 308 ? 'the endpoint moved;' : 'if the endpoint moved,';
  return `: ${moved} set the webhook's url to ${location}`;
}

/**
 * The body's beginning in whole characters, with an ellipsis where it went on.
 * @param mostBytes of the body
 */
export function bodyText(
  { body, isCut }: KeptAnswer,
  mostBytes: number = Infinity,
): string | undefined {
  if (body === undefined) return undefined;
  if (!isCut && body.length <= mostBytes) return body.toString();
  return `${wholeCharacters(body.subarray(0, mostBytes))}…`;
}

/** Without the bytes of a last character that is cut. */
export function wholeCharacters(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}
