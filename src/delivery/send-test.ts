import { randomUUID } from 'node:crypto';
import { bodyMakerOf } from '../event/body-shape.ts';
import type { Call } from '../event/call.ts';
import { noUrlValues, urlPathOf, urlValuesOf, type UrlValues } from '../event/url-template.ts';
import type { Destination } from '../resources/resource.ts';
import { leastCompressedBytes } from './compression.ts';
import { openSender, type SenderSettings } from './http/http-sender.ts';
import { withoutUrl, type Outcome } from './outcome.ts';
import { pathTo, PreparedDestination, type PreparedEndpoint } from './prepared-destination.ts';
import type { Sender, TokenAnswer } from './sender.ts';
import { bearer } from './token/token-source.ts';
import { withoutToken } from './token/tokens.ts';

export interface TestAnswer {
  /** Without credentials and query. */
  readonly publicUrl: string;
  readonly outcome: Outcome;
  readonly tookMs: number;
  /** Undefined: the body was sent as it is; `refused`: the endpoint has answered 415 to it, and got it uncompressed. */
  readonly compression?: 'gzip' | 'refused' | undefined;
}

/** The message to send. */
export interface TestMessage {
  readonly messageId: string;
  readonly body: string;
  readonly urlValues?: UrlValues;
}

/** Sends a message to each URL of a destination, exactly as a delivery does, and waits for the answers. */
export async function sendTest(
  destination: Destination,
  message: TestMessage,
  options: SenderSettings,
): Promise<readonly TestAnswer[]> {
  const sender = openSender(options);
  const { messageId, urlValues = noUrlValues } = message;
  const prepared = new PreparedDestination(destination);
  const isBatch = prepared.batch !== undefined;
  // The endpoint expects an array, also of one event.
  const body = Buffer.from(isBatch ? `[${message.body}]` : message.body);
  const batchSize = isBatch ? 1 : 0;
  const headers = prepared.headersOf(messageId, body, options.clock.now());
  const answers = prepared.endpoints.map(async (endpoint, index) => {
    const { publicUrl } = endpoint;
    const path = pathTo(endpoint, urlValues);
    if (typeof path !== 'string')
      return { publicUrl, outcome: withoutUrl(path.missing), tookMs: 0 };
    const token = await tokenFor(endpoint, sender);
    if (token?.kind === 'none')
      return { publicUrl, outcome: withoutToken(`no token: ${token.detail}`), tookMs: 0 };
    return new Promise<TestAnswer>((resolve) => {
      const isCompressed = endpoint.compression?.isFor(body, options.clock.steadyNow()) === true;
      const settled = (outcome: Outcome, _index: number, tookMs: number): void => {
        const isRefused = endpoint.compression?.refusedSinceMs !== undefined;
        const used = isRefused ? 'refused' : 'gzip';
        resolve({ publicUrl, outcome, tookMs, compression: isCompressed ? used : undefined });
      };
      const authorization = (): string | undefined => token && bearer(token.token);
      const mayFollow = (): boolean => false;
      const sending = { body, headers, messageId, batchSize, authorization, mayFollow, settled };
      sender.send(sending, endpoint, index, path);
    });
  });
  return Promise.all(answers).finally(() => sender.close());
}

/** Undefined: the endpoint needs none. */
async function tokenFor(
  { oauth2 }: PreparedEndpoint,
  sender: Sender,
): Promise<TokenAnswer | undefined> {
  if (oauth2 === undefined) return undefined;
  return new Promise((resolve) => {
    sender.fetchToken(oauth2, resolve);
  });
}

/** They make the test event long enough to be compressed. */
const longProperties = { test: true, filler: 'Compressed. '.repeat(leastCompressedBytes / 12) };

/**
 * An event in the destination's shape. Where the URL wants a value that the test has none of, the user's id stands.
 * @param timestamp ISO 8601
 */
export function testEvent(destination: Destination, timestamp: string): TestMessage {
  const messageId = `test-${randomUUID()}`;
  const userId = 'postrider-test';
  const event = 'Postrider Test';
  const properties = destination.compress === undefined ? { test: true } : longProperties;
  const fields = { type: 'track', messageId, userId, event, properties, timestamp };
  const call: Call = { type: 'track', messageId, userId, timestamp, fields };
  const values = urlValuesOf((destination.urlPaths ?? []).map(urlPathOf), call);
  const urlValues = Object.fromEntries(
    Object.entries(values).map(([path, value]) => [path, value ?? userId]),
  );
  return { messageId, body: bodyMakerOf(destination).build(call), urlValues };
}
