import { randomBytes } from 'node:crypto';
import fastifyCookie from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import type { Session } from '../api/model.ts';
import type { Access } from './access.ts';
import { isGone, type IdentityOf } from './customer-link.ts';
import { addLinkRoute } from './link-route.ts';
import { addLogInRoutes } from './log-in-routes.ts';
import { isMeant } from './meant.ts';
import { addOidcRoutes } from './oidc-routes.ts';
import { SessionCookies } from './session-cookies.ts';
import { Sessions, type Claims } from './sessions.ts';
import type { AccessSettings } from './settings.ts';
import { followTokens } from './tokens-file.ts';
import { Tokens } from './tokens.ts';

export interface LogInDeps {
  readonly log: Logger;
  readonly clock: Clock;
  readonly identityOf: IdentityOf;
}

/**
 * People log in and get a session's cookie; programs send a token along with every request.
 * @throws PostriderError `setting-invalid` for a file of tokens that cannot be read
 */
export class LogInAccess implements Access {
  readonly isOpen = false;
  readonly #settings: AccessSettings;
  readonly #deps: LogInDeps;
  readonly #key: Buffer;
  readonly #cookies: SessionCookies;
  readonly #tokens: Tokens | undefined;

  constructor(settings: AccessSettings, deps: LogInDeps) {
    const { url, sessionKey, tokensFile } = settings;
    const { log, clock } = deps;
    this.#settings = settings;
    this.#deps = deps;
    if (sessionKey === undefined)
      log.warn({}, 'CONSOLE_SESSION_KEY is not set, so a restart of the console ends all sessions');
    const isSecure = url?.startsWith('https:') === true;
    if (!isSecure)
      log.warn(
        {},
        'CONSOLE_URL is not https, so anyone who can read the traffic can take over tokens and sessions',
      );
    this.#key = sessionKey ?? randomBytes(32);
    this.#cookies = new SessionCookies(new Sessions(this.#key, clock), clock, isSecure);
    if (tokensFile !== undefined)
      this.#tokens = new Tokens(followTokens(tokensFile, log), this.#key, clock);
  }

  sessionOf(request: FastifyRequest): Session | undefined {
    const token = bearerToken(request);
    if (token !== undefined) {
      const known = this.#tokens?.whose(token, request.ip);
      if (known === undefined) return undefined;
      return { user: known.name, role: known.role, bodies: true, csrf: '', isOpen: false };
    }
    const claims = this.#cookies.of(request);
    const role = claims === undefined ? undefined : this.#roleNow(claims);
    if (claims === undefined || role === undefined) return undefined;
    const { user, destination, bodies } = claims;
    const csrf = this.#cookies.sessions.csrfOf(claims);
    const session = { user, role, bodies, csrf, isOpen: false };
    return destination === undefined ? session : { ...session, destination };
  }

  /** A cookie is bound to the name that it was set for, and what a page of another name sends has none. */
  allowsHost(): boolean {
    return true;
  }

  isMeant(request: FastifyRequest): boolean {
    // No page of another site can make a browser send it.
    if (bearerToken(request) !== undefined) return true;
    const claims = this.#cookies.of(request);
    if (claims === undefined) return false;
    const csrf = this.#cookies.sessions.csrfOf(claims);
    return isMeant(request, csrf, request.headers['x-csrf-token'], this.#settings.url);
  }

  async addRoutes(server: FastifyInstance): Promise<void> {
    await server.register(fastifyCookie);
    const { url, oidc, sessionKey } = this.#settings;
    const shared = { ...this.#deps, cookies: this.#cookies, consoleOrigin: url };
    const provider = oidc === undefined ? undefined : new URL(oidc.issuer).host;
    await addLogInRoutes(server, { ...shared, tokens: this.#tokens, provider });
    if (oidc !== undefined && url !== undefined)
      addOidcRoutes(server, { ...shared, key: this.#key, oidc, consoleUrl: url });
    if (sessionKey !== undefined) addLinkRoute(server, { ...shared, key: sessionKey });
  }

  /** Undefined: what the session was begun with lets nobody in any more. */
  #roleNow({ role, token, destination, uid }: Claims): Claims['role'] | undefined {
    if (token !== undefined) return this.#tokens?.byMark(token)?.role;
    if (role !== 'customer') return this.#settings.oidc === undefined ? undefined : role;
    // A former release's session does not say for which destination of this id it is.
    if (destination === undefined || uid === undefined) return undefined;
    return isGone({ destination, uid }, this.#deps.identityOf) ? undefined : role;
  }
}

/** Basic is a proxy's business. */
function bearerToken({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}
