import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { getDomain } from 'tldts';
import { callInBody } from '../event/body.ts';
import type { Envelope } from '../event/envelope.ts';
import { loopHeader, loopMark } from '../event/headers.ts';
import type { AnswerRule } from '../event/attempt-line.ts';
import {
  fillTarget,
  hasPlaceholders,
  noUrlValues,
  parseUrlTemplate,
  shownPath,
  urlPathOf,
  urlValuesOf,
  type UrlPath,
  type UrlTemplate,
  type UrlValues,
} from '../event/url-template.ts';
import { parseDuration } from '../duration.ts';
import type { Destination, HttpMethod, RetryRules, Webhook } from '../resources/resource.ts';
import { batchLimitsOf, type BatchLimits } from '../resources/schema/batch.ts';
import { orderForMsOf } from '../resources/schema/order.ts';
import { shownUrl } from '../resources/schema/texts.ts';
import { Compression } from './compression.ts';
import type { AnswerRules } from './outcome.ts';
import type { ClientCertificate, OAuth2 } from '../resources/schema/webhook-login.ts';
import { Signer } from './signer.ts';

const fixedHeaders = [
  'Content-Type',
  'application/json',
  'User-Agent',
  'Postrider/1.0',
  loopHeader,
  loopMark,
];

/** A client certificate, and a text by which it differs from others. */
export interface TlsIdentity extends ClientCertificate {
  readonly id: string;
}

/** One URL of a destination, parsed once for all its requests. */
export interface PreparedEndpoint {
  readonly url: string;
  readonly origin: string;
  /** The path and query; a template if they have placeholders. */
  readonly target: string | UrlTemplate;
  readonly method: HttpMethod;
  /** Names and values in turn: all that is the same on each request to it. */
  readonly headers: readonly string[];
  /**
   * Without credentials and query, and with the names of placeholders, so that logs may show it; of a secret URL, its
   * origin and a hash.
   */
  readonly publicUrl: string;
  readonly isUrlSecret: boolean;
  /** The group of hosts that are likely to fail together; see `providerOf`. */
  readonly provider: string;
  /** Undefined where its destination has none. */
  readonly answerRules: AnswerRules | undefined;
  /** The time of one whole attempt; undefined: that of the settings. */
  readonly timeoutMs: number | undefined;
  /** The credentials for the token that each request carries. */
  readonly oauth2?: OAuth2 | undefined;
  /** Undefined: its bodies are sent as they are. */
  readonly compression?: Compression | undefined;
  /** The certificate that its connections show, where the endpoint demands one. */
  readonly identity?: TlsIdentity | undefined;
}

/** An event, as far as its URLs depend on it. A `Job` has all of it. */
interface Addressed {
  readonly envelope: Pick<Envelope, 'type' | 'messageId' | 'urlValues'>;
  readonly body: Buffer;
  urlValues: UrlValues;
}

/** The path and query of an event's request, or the path of the value that the event lacks for them. */
export function pathTo(
  { target }: PreparedEndpoint,
  values: UrlValues,
): string | { readonly missing: string } {
  return typeof target === 'string' ? target : fillTarget(target, values);
}

/** The data for sending that follows from one version of a destination. */
export class PreparedDestination {
  readonly destination: Destination;
  readonly endpoints: readonly PreparedEndpoint[];
  /** The time for retries; undefined: that of the settings. */
  readonly retryWindowMs: number | undefined;
  /** See `orderForMsOf`. */
  readonly orderForMs: number | undefined;
  /** Undefined: each event goes out alone. */
  readonly batch: BatchLimits | undefined;
  readonly #signer: Signer;
  readonly #urlPaths: readonly UrlPath[];

  constructor(destination: Destination) {
    this.destination = destination;
    const { webhooks, retry = {} } = destination;
    const answerRules = answerRulesOf(retry);
    this.retryWindowMs = parseDuration(retry.window ?? '');
    this.endpoints = webhooks.map((each) => prepareEndpoint(each, destination, answerRules));
    this.orderForMs = orderForMsOf(destination);
    this.batch = destination.batch === undefined ? undefined : batchLimitsOf(destination.batch);
    this.#signer = new Signer(destination);
    this.#urlPaths = (destination.urlPaths ?? []).map(urlPathOf);
  }

  /**
   * Looks up the values that the event's URLs need.
   * @returns the path of the value for want of which no URL can be made for the event; undefined: one can
   */
  findUrls(event: Addressed): string | undefined {
    if (this.#urlPaths.length === 0) return undefined;
    event.urlValues = urlValuesFor(event, this.#urlPaths, this.destination);
    let lacking: string | undefined;
    for (const endpoint of this.endpoints) {
      const path = pathTo(endpoint, event.urlValues);
      if (typeof path === 'string') return undefined;
      lacking ??= path.missing;
    }
    return lacking;
  }

  /**
   * The headers of one attempt, names and values in turn, beside those of each endpoint: the signatures, and the
   * message id where the destination wants it.
   */
  headersOf(messageId: string, body: Buffer, nowMs: number): readonly string[] {
    const headers: string[] = [];
    const { signature, idempotencyHeader } = this.destination;
    const isIdSent = signature !== undefined || idempotencyHeader !== undefined;
    const id = isIdSent ? headerValue(messageId) : '';
    this.#signer.addHeaders(headers, id, body, nowMs);
    if (idempotencyHeader !== undefined) headers.push(idempotencyHeader, id);
    return headers;
  }
}

/** Looked up for answers that are no success. */
function answerRulesOf({ on = [], giveUpOn = [] }: RetryRules): AnswerRules | undefined {
  if (on.length + giveUpOn.length === 0) return undefined;
  return new Map<number, AnswerRule>([
    ...on.map((status) => [status, 'retry.on'] as const),
    ...giveUpOn.map((status) => [status, 'retry.giveUpOn'] as const),
  ]);
}

function prepareEndpoint(
  webhook: Webhook,
  { secretUrl = false, retry = {}, compress }: Destination,
  answerRules: AnswerRules | undefined,
): PreparedEndpoint {
  const url = new URL(webhook.url);
  const headers = [...fixedHeaders];
  // What an endpoint says to an error is kept and shown as it comes.
  if (!Object.keys(webhook.headers).some((name) => /^accept-encoding$/i.test(name)))
    headers.push('Accept-Encoding', 'identity');
  for (const [name, value] of Object.entries(webhook.headers)) headers.push(name, value);
  const template = hasPlaceholders(webhook.url) ? parseUrlTemplate(webhook.url) : undefined;
  if (template !== undefined && 'problem' in template)
    throw new Error(`the URL ${template.problem}`);
  return {
    url: webhook.url,
    origin: url.origin,
    target: template ?? url.pathname + url.search,
    method: webhook.method ?? 'POST',
    headers,
    isUrlSecret: secretUrl,
    publicUrl: secretUrl
      ? shownUrl(webhook.url)
      : url.origin + (template === undefined ? url.pathname : shownPath(template)),
    provider: providerOf(url.hostname),
    answerRules,
    timeoutMs: parseDuration(retry.timeout ?? ''),
    oauth2: webhook.oauth2,
    compression: compress === undefined ? undefined : new Compression(),
    identity: webhook.clientCertificate && identityOf(webhook.clientCertificate),
  };
}

/** The values that the router saw, and what else can be known of the call. */
function urlValuesFor(
  { envelope, body }: Addressed,
  paths: readonly UrlPath[],
  destination: Destination,
): UrlValues {
  const { urlValues = noUrlValues, type } = envelope;
  const others = paths.filter(({ text }) => !Object.hasOwn(urlValues, text));
  // The body of a shape may have another meaning at a path.
  if (others.length === 0 || (destination.body !== undefined && type !== 'delete'))
    return urlValues;
  return { ...urlValues, ...urlValuesOf(others, callInBody(envelope, body)) };
}

function identityOf(shown: ClientCertificate): TlsIdentity {
  const id = createHash('sha256').update(shown.certificate).digest('base64');
  return { ...shown, id };
}

/** The options for names that `URL` has parsed, and that are no addresses. */
const parsed = {
  allowPrivateDomains: true,
  extractHostname: false,
  validateHostname: false,
  detectIp: false,
};

/**
 * Groups hosts that are likely to fail together: the names under one registered domain (all customers of a platform), or
 * the neighborhood of an address. Domains are registered under a suffix of the Public Suffix List: under `com.br`, and
 * with clouds that give each customer a name, under `azurewebsites.net`.
 */
export function providerOf(hostname: string): string {
  const host = hostname.replace(/^\[|\]$/g, '');
  // A suffix itself, such as `localhost`, is no domain.
  if (isIP(host) === 0) return getDomain(host, parsed) ?? host;
  const address = ipaddr.process(host);
  const prefixBytes = address.kind() === 'ipv4' ? 3 : 6;
  return address.toByteArray().slice(0, prefixBytes).join('.');
}

/**
 * Producers choose message ids freely. Characters that a header cannot carry are percent-encoded, halves of a pair as
 * `%uD83D`, so that different ids have different values.
 */
function headerValue(messageId: string): string {
  if (/^[\x21-\x24\x26-\x7e]+$/.test(messageId)) return messageId;
  const half = /(\p{Surrogate})/u;
  return messageId
    .split(half)
    .map((part) => (half.test(part) ? `%u${hexOf(part)}` : encodeURIComponent(part)))
    .join('');
}

function hexOf(half: string): string {
  return half.charCodeAt(0).toString(16).toUpperCase();
}
