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

/** The values that differ on each attempt, in lower case. */
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
  const own = prepared.headersOf(envelope.messageId, body, 0);
  const event = { envelope, body, urlValues: noUrlValues };
  prepared.findUrls(event);
  return prepared.endpoints.map((endpoint) => {
    const { origin, method, url } = endpoint;
    const path = pathTo(endpoint, event.urlValues);
    const isMade = typeof path === 'string';
    return {
      method,
      url: isMade && masked.secretUrl !== true ? `${origin}${path}` : url,
      headers: shownHeaders([
        ...endpoint.headers,
        ...own,
        ...tokenOf(endpoint),
        ...encodingOf(endpoint, body),
      ]),
      ...(isMade ? undefined : { problem: withoutUrl(path.missing).detail }),
    };
  });
}

/** A token is fetched when a request is sent. */
function tokenOf({ oauth2 }: PreparedEndpoint): readonly string[] {
  return oauth2 === undefined ? [] : ['Authorization', '(token)'];
}

/** The endpoint may have refused it lately; that is known where requests are sent. */
function encodingOf({ compression }: PreparedEndpoint, body: Buffer): readonly string[] {
  return compression?.isFor(body, 0) === true ? ['Content-Encoding', 'gzip'] : [];
}

/** @param headers names and values in turn */
function shownHeaders(headers: readonly string[]): Readonly<Record<string, string>> {
  const names = headers.filter((_, index) => index % 2 === 0);
  return Object.fromEntries(
    names.map((name, index) => [
      name,
      placeholders[name.toLowerCase()] ?? headers[2 * index + 1] ?? '',
    ]),
  );
}
