import { shortened } from '../event/last-answer.ts';

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

export function toldHeadersOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): AnswerHeaders {
  const told: Record<string, string> = {};
  for (const name of toldHeaders) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    told[name] = shortened(name === 'location' ? withoutSecrets(text) : text, mostValueCharacters);
  }
  return told;
}

/** Credentials and the query of a URL may be secret, here as in a destination's own. */
function withoutSecrets(url: string): string {
  return url.replace(/[?#].*$/s, '?…').replace(/\/\/[^/]*@/, '//');
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
