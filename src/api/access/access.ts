import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { PostriderError } from '../../errors.ts';
import type { Problem } from '../../http-api/answers.ts';
import { CallLimit } from '../../http-api/call-limit.ts';
import { problem, ProblemError } from '../../http-api/problem.ts';
import { bearerToken, followTokens, Tokens } from '../../http-api/tokens.ts';
import { clientAddress } from '../../ops/client-ip.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { linkTokenPrefix, type CustomersLinks } from '../../resources/customers/links.ts';
import { formatRate } from '../../resources/schema/texts.ts';
import { apiTokens, callerOfToken, type ApiToken } from './api-tokens.ts';
import { callerOfLink, scopes, wrongToken, type Caller } from './caller.ts';
import { isJsonWebToken, JsonWebTokens, type ApiOidcSettings } from './json-web-tokens.ts';

/** The settings that decide who may use the API. */
export interface AccessSettings {
  /** The address that the API listens on. Undefined: the usual one. */
  readonly host: string | undefined;
  readonly tokensFile: string | undefined;
  readonly oidc: ApiOidcSettings | undefined;
  /** Requests a second of each caller. */
  readonly rateLimit: number;
}

export interface AccessDeps {
  readonly log: Logger;
  readonly clock: Clock;
  /** The links to customers, as they are now. */
  readonly links: () => Pick<CustomersLinks, 'byToken'>;
}

/** Decides who may use the API. Every request is checked here. */
export interface ApiAccess {
  /** Nobody needs a token, so the API may listen on loopback only. */
  readonly isOpen: boolean;
  /** The address to listen on. */
  readonly host: string;
  /** The reason to refuse a request, whoever sends it. */
  objectionTo(request: FastifyRequest): Problem | undefined;
  /**
   * @throws ProblemError 401 that says what is wrong with the token, 429 for an address that has guessed too often, or a
   * caller beyond its limit, 503 while the identity provider does not answer
   */
  callerOf(request: FastifyRequest): Promise<Caller>;
}

/**
 * @throws PostriderError `setting-invalid` where everybody could come in from elsewhere, or for a file of tokens that
 * cannot be read
 */
export function createAccess(settings: AccessSettings, deps: AccessDeps): ApiAccess {
  const { tokensFile, oidc } = settings;
  const callers = new Callers(settings, deps);
  if (tokensFile !== undefined || oidc !== undefined) return closedAccess(settings, callers);
  const { host = '127.0.0.1' } = settings;
  if (isLoopback(host)) return openAccess(host, callers);
  throw new PostriderError(
    'setting-invalid',
    `API_HOST is ${host}, which other machines can reach, and nobody needs a token: set API_TOKENS_FILE or API_OIDC_ISSUER, or leave API_HOST at 127.0.0.1`,
  );
}

/** Finds whoever has sent a request, by its token alone. */
class Callers {
  readonly #tokens: Tokens<ApiToken> | undefined;
  readonly #provider: JsonWebTokens | undefined;
  readonly #limit: CallLimit;
  readonly #rateLimit: number;
  readonly #deps: AccessDeps;

  constructor({ tokensFile, oidc, rateLimit }: AccessSettings, deps: AccessDeps) {
    const { clock, log } = deps;
    if (tokensFile !== undefined) {
      const file = followTokens(apiTokens, tokensFile, log);
      this.#tokens = new Tokens(file, { api: 'the API', clock, log });
    }
    if (oidc !== undefined) this.#provider = new JsonWebTokens(oidc, deps);
    this.#limit = new CallLimit(rateLimit, clock);
    this.#rateLimit = rateLimit;
    this.#deps = deps;
  }

  /** Undefined: the request has no token. */
  async of(request: FastifyRequest): Promise<Caller | undefined> {
    const token = bearerToken(request.headers);
    if (token === undefined) return undefined;
    const caller = await this.#whose(token, clientAddress(request));
    this.limit(caller);
    return caller;
  }

  /** @throws ProblemError 429 */
  limit({ user }: Caller): void {
    const sentence = `You may send ${formatRate(this.#rateLimit)} (API_RATE_LIMIT); send fewer requests.`;
    this.#limit.take(user, sentence);
  }

  async #whose(token: string, address: string): Promise<Caller> {
    if (token.startsWith(linkTokenPrefix)) return this.#ofLink(token);
    if (this.#provider !== undefined && isJsonWebToken(token))
      return this.#provider.callerOf(token);
    const known = this.#tokens?.whose(token, address);
    if (known === undefined) throw wrongToken('The token is not one that the API knows.');
    return callerOfToken(known);
  }

  #ofLink(token: string): Caller {
    const { links, clock } = this.#deps;
    const link = links().byToken(token, clock.now());
    if (link === undefined)
      throw wrongToken('This link does not work: it was revoked, has expired, or was never made.');
    return callerOfLink(link);
  }
}

function closedAccess({ host = '0.0.0.0' }: AccessSettings, callers: Callers): ApiAccess {
  return {
    isOpen: false,
    host,
    objectionTo: () => undefined,
    callerOf: async (request) => {
      const caller = await callers.of(request);
      if (caller !== undefined) return caller;
      throw new ProblemError(401, 'The request needs a token, as Authorization: Bearer.', {
        authenticate: 'Bearer',
      });
    },
  };
}

function isLoopback(host: string): boolean {
  if (isIP(host) !== 0) return ipaddr.process(host).range() === 'loopback';
  return host.toLowerCase() === 'localhost';
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Without tokens: whoever reaches loopback may do everything. The name in `Host` is looked at, because a page
 * of somebody else's domain that resolves to 127.0.0.1 (DNS rebinding) would reach it too; and because a page of any
 * site can make a browser send a POST here, what has an `Origin` is refused. A customer's link shows what it shows
 * everywhere.
 */
function openAccess(host: string, callers: Callers): ApiAccess {
  const local: Caller = { user: 'local', scopes: new Set(scopes), customers: undefined };
  return {
    isOpen: true,
    host,
    objectionTo: ({ headers }) => {
      const name = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d{1,5})?$/i.exec(headers.host ?? '')?.[1];
      if (name === undefined || !loopbackNames.has(name.toLowerCase()))
        return problem(
          421,
          'Without tokens the API answers only to localhost, 127.0.0.1 and [::1].',
        );
      if (headers.origin === undefined) return undefined;
      return problem(403, 'Without tokens the API answers no web pages; set API_TOKENS_FILE.');
    },
    callerOf: async (request) => {
      const caller = await callers.of(request);
      if (caller !== undefined) return caller;
      callers.limit(local);
      return local;
    },
  };
}
