import {
  allowInsecureRequests,
  clientCredentialsGrant,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
} from 'openid-client';
import { Agent, errors, request } from 'undici';
import type { buildConnector } from 'undici';
import { shortened } from '../../event/last-answer.ts';
import type { OAuth2 } from '../../resources/schema/webhook-login.ts';
import { AddressRefusedError, NameRefusedError } from './address-guard.ts';
import { outcomeOfError } from './errors.ts';
import type { TokenAnswer } from '../sender.ts';

export interface TokenClientOptions {
  /** Connects to the addresses that a URL with `https:` may lead to. */
  readonly connect: buildConnector.connector;
  /** The same for `http:`, by which everybody on the way reads the client's secret. */
  readonly connectUnencrypted: buildConnector.connector;
  readonly timeoutMs: number;
}

const mostAnswerBytes = 65_536;
/** Other servers' tokens don't wait for one that hangs; many clients of that one do. */
const mostConnections = 32;
/** Longer headers are refused by most servers. */
const mostTokenCharacters = 8_192;
/** An authorization server's own words, which are stored and shown. */
const mostQuotedCharacters = 200;

/** Asks authorization servers for tokens by the client credentials grant (RFC 6749, 4.4). */
export class TokenClient {
  readonly #timeoutMs: number;
  readonly #encrypted: Agent;
  readonly #unencrypted: Agent;

  constructor({ connect, connectUnencrypted, timeoutMs }: TokenClientOptions) {
    this.#timeoutMs = timeoutMs;
    const common = {
      allowH2: false,
      connections: mostConnections,
      keepAliveTimeout: 30_000,
      maxResponseSize: mostAnswerBytes,
    };
    this.#encrypted = new Agent({ ...common, connect });
    this.#unencrypted = new Agent({ ...common, connect: connectUnencrypted });
  }

  /** Never throws: whatever goes wrong is told in words, without any secret. */
  async fetch(login: OAuth2): Promise<TokenAnswer> {
    try {
      return await this.#fetch(login);
    } catch (error) {
      return { kind: 'none', detail: withoutSecret(sentenceOf(error, login), login) };
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#encrypted.destroy(), this.#unencrypted.destroy()]);
  }

  async #fetch({
    tokenUrl,
    clientId,
    clientSecret,
    scope,
    audience,
    auth,
  }: OAuth2): Promise<TokenAnswer> {
    const server = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl };
    const authentication =
      auth === 'basic' ? ClientSecretBasic(clientSecret) : ClientSecretPost(clientSecret);
    const configuration = new Configuration(server, clientId, undefined, authentication);
    // Which unencrypted connections are allowed, the connector decides.
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- its author's way to warn
    allowInsecureRequests(configuration);
    configuration[customFetch] = (url, { headers, body }) =>
      this.#post(url, headers, body instanceof URLSearchParams ? body.toString() : '');
    const { access_token: token, expires_in: lifeS } = await clientCredentialsGrant(configuration, {
      ...(scope === undefined ? {} : { scope }),
      ...(audience === undefined ? {} : { audience }),
    });
    if (lifeS !== undefined && lifeS <= 0)
      throw new TokenProblem(`its token has ended already: expires_in is ${lifeS}`);
    if (token.length > mostTokenCharacters)
      throw new TokenProblem(
        `its token has ${token.length} characters; a header takes at most ${mostTokenCharacters}`,
      );
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new TokenProblem('its token has characters that a header cannot carry');
    return { kind: 'token', token, lifeS };
  }

  /** Redirects are not followed: they would lead the client's secret to a place that nobody has configured. */
  async #post(url: string, headers: Record<string, string>, body: string): Promise<Response> {
    const dispatcher = url.startsWith('https:') ? this.#encrypted : this.#unencrypted;
    const signal = AbortSignal.timeout(this.#timeoutMs);
    const {
      statusCode,
      headers: said,
      body: answer,
    } = await request(url, {
      dispatcher,
      method: 'POST',
      headers,
      body,
      signal,
    });
    const text = await answer.text();
    refuseAnswer(statusCode, text);
    const type = said['content-type'];
    return new Response(text, {
      status: statusCode,
      headers: { 'content-type': typeof type === 'string' ? type : '' },
    });
  }
}

/** A message that may be shown to everybody, once the client's secret is taken out. */
class TokenProblem extends Error {}

/** @throws TokenProblem for an answer without a token */
function refuseAnswer(status: number, text: string): void {
  if (status >= 300 && status < 400)
    throw new TokenProblem(`it answered ${status}, a redirect, which is not followed`);
  const said = objectIn(text);
  const { error, error_description: description } = said ?? {};
  if (typeof error === 'string') {
    const more = typeof description === 'string' ? `: ${description}` : '';
    throw new TokenProblem(
      `it answered ${status} with ${shortened(`${error}${more}`, mostQuotedCharacters)}`,
    );
  }
  if (status !== 200) throw new TokenProblem(`it answered ${status}`);
  if (said === undefined)
    throw new TokenProblem('it answered 200 with something that is no JSON object');
  if (typeof said['access_token'] !== 'string' || said['access_token'] === '')
    throw new TokenProblem('it answered 200 without an access_token');
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The sentence about an error of the network, or of the library, whose causes say more than itself. */
function sentenceOf(error: unknown, login: Pick<OAuth2, 'tokenUrl'>): string {
  if (error instanceof ClientError && error.cause instanceof Error)
    return sentenceOf(error.cause, login);
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return 'no complete answer in time';
  if (error instanceof errors.ResponseExceededMaxSizeError)
    return `its answer has more than ${mostAnswerBytes} bytes`;
  const isRefused = error instanceof AddressRefusedError || error instanceof NameRefusedError;
  if (isRefused && login.tokenUrl.startsWith('http:'))
    return 'the URL is not https, and DELIVERY_ALLOW_NETWORKS does not have its network';
  return outcomeOfError(error, 'unreached').detail;
}

/** Some servers repeat in an error what they were sent. */
function withoutSecret(detail: string, { clientSecret }: OAuth2): string {
  return [clientSecret, encodeURIComponent(clientSecret)].reduce(
    (text, secret) => text.replaceAll(secret, '…'),
    detail,
  );
}
