import type { Envelope } from '../event/envelope.ts';
import { noUrlValues } from '../event/url-template.ts';
import { maskResource } from '../resources/config/stored.ts';
import type { Destination } from '../resources/resource.ts';
import { withoutUrl } from './outcome.ts';
import { pathTo, PreparedDestination, type PreparedEndpoint } from './prepared-destination.ts';

/** A request as it would be sent, without secrets. */
export interface PreviewedRequest {
  readonly method: string;
  /** With the event's values in it; of a secret URL, its origin and a hash. */
  readonly url: string;
  /** The reason why no request can be made: the event lacks a value that the URL needs, and this is the URL as configured. */
  readonly problem?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** An event as the router writes it. */
export interface RoutedEvent {
  readonly envelope: Envelope;
  readonly body: Buffer;
}

/** The texts in the place of values that differ on each attempt, by headers in lower case. */
const placeholders: Readonly<Record<string, string>> = {
  'x-signature': '(signature)',
  'webhook-signature': '(signature)',
  'webhook-timestamp': '(seconds of the attempt)',
};

/**
 * The requests of an event, one for each URL, made as a delivery makes them. No secret is read: a mask stands in the
 * place of each, and signatures are placeholders.
 */
export function previewRequests(
  destination: Destination,
  { envelope, body }: RoutedEvent,
): readonly PreviewedRequest[] {
  const masked = maskResource({ sealed: destination }) as Destination;
  const prepared = new PreparedDestination(masked);
  const isInBatch = prepared.batch !== undefined;
  const own = prepared.headersOf(envelope.messageId, body, 0);
  const unknown = isInBatch ? { ...placeholders, ...idsOfBatch(masked) } : placeholders;
  const event = { envelope, body, urlValues: noUrlValues };
  prepared.findUrls(event);
  return prepared.endpoints.map((endpoint) => {
    const { origin, method, url } = endpoint;
    const path = pathTo(endpoint, event.urlValues);
    const isMade = typeof path === 'string';
    return {
      method,
      url: isMade && masked.secretUrl !== true ? `${origin}${path}` : url,
      headers: shownHeaders(
        [
          ...endpoint.headers,
          ...own,
          ...tokenOf(endpoint),
          ...encodingOf(endpoint, body, isInBatch),
        ],
        unknown,
      ),
      ...(isMade ? undefined : { problem: withoutUrl(path.missing).detail }),
    };
  });
}

/** The other events of a batch are known when it is sent. */
function idsOfBatch({ idempotencyHeader }: Destination): Readonly<Record<string, string>> {
  const id = '(made from the ids of the events in the array)';
  return { 'webhook-id': id, ...(idempotencyHeader && { [idempotencyHeader.toLowerCase()]: id }) };
}

/** A token is fetched when a request is sent. */
function tokenOf({ oauth2 }: PreparedEndpoint): readonly string[] {
  return oauth2 === undefined ? [] : ['Authorization', '(token)'];
}

/** The endpoint may have refused it lately; that is known where requests are sent. */
function encodingOf(
  { compression }: PreparedEndpoint,
  body: Buffer,
  isInBatch: boolean,
): readonly string[] {
  if (compression === undefined) return [];
  if (compression.isFor(body, 0)) return ['Content-Encoding', 'gzip'];
  return isInBatch ? ['Content-Encoding', '(gzip, if the array has 1 KB)'] : [];
}

/**
 * @param headers names and values in turn
 * @param unknown texts in the place of values, by headers in lower case
 */
function shownHeaders(
  headers: readonly string[],
  unknown: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = headers.filter((_, index) => index % 2 === 0);
  return Object.fromEntries(
    names.map((name, index) => [name, unknown[name.toLowerCase()] ?? headers[2 * index + 1] ?? '']),
  );
}
