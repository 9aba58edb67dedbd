import type { Story } from '../api/answers/events.ts';
import { ProblemError } from '../api/problem.ts';
import { causeInWords, inCustomersWords } from './customer-words.ts';
import type { Asking } from './may-ask.ts';
import type { Veil } from './veil.ts';

/**
 * The part of a route's answer that the session may see. A customer may see neither the destination's
 * configuration, which has URLs with their queries, nor what became of an event elsewhere, nor the numbers of records
 * in topics that others share, nor the addresses of our network in a message.
 * @throws ProblemError 404 for an event that did not go to the customer's destination, as for an unknown one
 */
export function seenBy(asking: Asking, route: string, answer: unknown, veil: Veil): unknown {
  if (asking.role !== 'customer') return answer;
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
    destination === asking.destination;
  const own = destinations.filter((each) => isOwn(each) && each.state !== 'unwanted');
  if (own.length === 0) throw new ProblemError(404, `There is no event ${messageId}.`);
  const seen = { messageId, user, source, type, event, received: [], destinations: own };
  const isShown = asking.bodies && copies !== undefined;
  return isShown ? { ...seen, copies: copies.filter(isOwn) } : seen;
}
