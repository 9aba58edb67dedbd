import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { ProblemError } from '../../http-api/problem.ts';
import type { Story } from '../api/answers/events.ts';
import type { Asking } from './may-ask.ts';
import { isSame } from './signed.ts';

/**
 * The part of a route's answer that the session may see. A customer may see neither a destination's
 * configuration, which has URLs with their queries, nor what became of an event elsewhere, nor the numbers of records
 * in topics that others share, nor the addresses of our network in a message.
 * @throws ProblemError 404 for an event that went to none of the customer's destinations, as for an unknown one
 */
export function seenBy(asking: Asking, route: string, answer: unknown, veil: Veil): unknown {
  if (asking.own === undefined) return answer;
  const own = route === '/events' ? storyFor(asking, answer as Story) : answer;
  return isDocument(route) ? own : veiled(own, veil);
}

/** A customer's query with its places unveiled. */
export function unveiledQuery(
  query: Readonly<Record<string, unknown>>,
  veil: Veil,
): Readonly<Record<string, unknown>> {
  const named = Object.entries(query).map(([name, value]) => {
    if (!places.has(name)) return [name, value];
    const place = typeof value === 'string' ? veil.unveil(value) : undefined;
    if (place === undefined)
      throw new ProblemError(400, `${name} is none that this console gave; load the page again.`);
    return [name, place];
  });
  return Object.fromEntries(named) as Readonly<Record<string, unknown>>;
}

/** In queries. */
const places: ReadonlySet<string> = new Set(['after', 'cursor']);
const veiledFields: ReadonlySet<string> = new Set(['seq', 'place', 'next']);
const texts: ReadonlySet<string> = new Set(['detail', 'what']);

/** Fields that only staff may see. */
const leftOut: ReadonlySet<string> = new Set(['resource', 'rule']);

function isDocument(route: string): boolean {
  return route === '/openapi.json' || route === '/session';
}

function veiled(value: unknown, veil: Veil): unknown {
  if (Array.isArray(value)) return value.map((each) => veiled(each, veil));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value)
    .filter(([name]) => !leftOut.has(name))
    .map(([name, each]): [string, unknown] => {
      if (typeof each !== 'string') return [name, veiled(each, veil)];
      if (veiledFields.has(name)) return [name, veil.veil(each)];
      if (name === 'cause') return [name, causeInWords(withoutAddresses(each))];
      return [name, texts.has(name) ? inCustomersWords(withoutAddresses(each)) : each];
    });
  return Object.fromEntries(fields);
}

const address =
  /(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|(?=[\da-f:.]*:[\da-f:.]*:)[\da-f:.]{2,45})(?![\w.])/gi;
const time = /\d{4}-\d\d-\d\dT[\d:.]+Z/;

/** Times have colons too. */
function withoutAddresses(text: string): string {
  return text
    .split(new RegExp(`(${time.source})`))
    .map((part) => (time.test(part) ? part : part.replaceAll(address, '(an address)')))
    .join('');
}

function storyFor(asking: Asking, story: Story): Story {
  const { messageId, user, source, type, event, destinations, copies } = story;
  const isOwn = ({ destination }: { readonly destination: string }): boolean =>
    asking.own?.has(destination) === true;
  const own = destinations.filter((each) => isOwn(each) && each.state !== 'unwanted');
  if (own.length === 0) throw new ProblemError(404, `There is no event ${messageId}.`);
  const seen = { messageId, user, source, type, event, received: [], destinations: own };
  const isShown = asking.bodies && copies !== undefined;
  return isShown ? { ...seen, copies: copies.filter(isOwn) } : seen;
}

/*
 * Rewords what commands and pages for staff say of an event for a customer, who knows nothing of what runs here: no topics,
 * offsets, breakers or dead letters.
 */

/** Why an event was put off. */
const causes: ReadonlyMap<string, string> = new Map([
  ['breaker', 'the endpoint has failed too often'],
  ['retry-after', 'the endpoint asked to wait'],
  ['rate-limit', 'the rate limit'],
  ['slow', 'the endpoint answers too slowly'],
  ['lane', 'other events come first'],
  ['retention', 'to keep it for longer'],
  ['unreadable', 'a fault at the sender'],
  ['local', 'a fault at the sender'],
  ['cut-off', 'a fault at the sender'],
  ['order', 'an earlier event of the user has failed'],
  ['token', 'no token could be had for the endpoint'],
  ['newer-format', 'a fault at the sender'],
]);

/** `put off (breaker) until …`, `after 3 attempts, breaker` */
const namedCause = new RegExp(
  `(?<=\\(|attempts?, )(?:${[...causes.keys()].join('|')})(?=[),;]|$)`,
  'g',
);

export function causeInWords(cause: string): string {
  return causes.get(cause) ?? cause;
}

const phrases: readonly (readonly [RegExp, string])[] = [
  [/^routed to .*/, 'accepted'],
  [/^sent again from .*/, 'sent again'],
  [/^the router has not read it yet$|^no worker has finished with it yet$/, 'not tried yet'],
  [
    /^it neither waits nor is a dead letter: .*/,
    'delivered at the first attempt, as far as is known',
  ],
  [/^no record and no line of it is kept$/, 'nothing is known of it any more'],
  [/\bdead letter\b/, 'given up'],
  [/\bno readable .*|\b(?:malformed|record-refused)\b.*|\bKafka\b.*/, 'a fault at the sender'],
  [/\bhttp-(\d{3})\b/, 'refused with $1'],
  [/\bexpired-late\b/, 'its time was over'],
  [/\btoo-old\b/, 'too old'],
  [/\btls-untrusted\b/, 'the certificate is not trusted'],
  [/\baddress-refused\b/, 'the address is not allowed'],
  [/\bnot-http\b/, 'no HTTP came back'],
  [/\bno-url\b/, 'it lacks a value that the URL needs'],
  [/\bdestination-(disabled|deleted)\b/, 'the destination was $1'],
  [/ \(retry\.(?:on|giveUpOn)\)/, ''],
  [/(?:the endpoint moved;|if the endpoint moved,) set the webhook's url to/, 'it redirects to'],
  [/ \(suppress-user\)/, ''],
  [/ in its own topic\b/, ''],
  [/, packed with \d+ others\b/, ''],
  [/\bits breaker is open\b/, 'the endpoint has failed too often'],
];

/** The endpoint's own words, which stand in quotes, stay as they are. */
export function inCustomersWords(text: string): string {
  const quoted = text.indexOf('"');
  const [ours, theirs] = quoted < 0 ? [text, ''] : [text.slice(0, quoted), text.slice(quoted)];
  const plain = phrases.reduce((words, [found, word]) => words.replace(found, word), ours);
  return plain.replaceAll(namedCause, causeInWords) + theirs;
}

const ivBytes = 16;
const algorithm = 'aes-256-ctr';

/**
 * Numbers that a customer gets and sends back, and must not read: of a topic that all destinations share, the number of
 * a record says how much the others have sent.
 */
export class Veil {
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** The same text always becomes the same. */
  veil(text: string): string {
    const iv = this.#ivOf(text);
    const cipher = createCipheriv(algorithm, this.#key, iv);
    return Buffer.concat([iv, cipher.update(text), cipher.final()]).toString('base64url');
  }

  /** Undefined for what this veil has not made. */
  unveil(veiled: string): string | undefined {
    const bytes = Buffer.from(veiled, 'base64url');
    if (bytes.length < ivBytes) return undefined;
    const iv = bytes.subarray(0, ivBytes);
    const decipher = createDecipheriv(algorithm, this.#key, iv);
    const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes)), decipher.final()]);
    const isOurs = isSame(this.#ivOf(text.toString()).toString('hex'), iv.toString('hex'));
    return isOurs ? text.toString() : undefined;
  }

  /** Made of the text: it authenticates it too. */
  #ivOf(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, ivBytes);
  }
}
