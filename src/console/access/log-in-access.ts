import { randomBytes } from 'node:crypto';
import fastifyCookie from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../ops/clock.ts';
import { clientAddress } from '../../ops/client-ip.ts';
import type { Logger } from '../../ops/log.ts';
import type { Session } from '../api/answers/deployment.ts';
import type { AuditRecord } from '../../event/audit-entry.ts';
import type { Audit } from '../actions/audit.ts';
import type { Access } from './access.ts';
import { isGone, type IdentityOf } from './customer-link.ts';
import { addLinkRoute } from './link-route.ts';
import { addLogInRoutes } from './log-in-routes.ts';
import { isMeant } from './meant.ts';
import { entrancePages } from './page-html.ts';
import { addOidcRoutes } from './oidc-routes.ts';
import { SessionCookies } from './session-cookies.ts';
import { Sessions, type Claims } from './sessions.ts';
import type { AccessSettings } from './settings.ts';
import { followTokens } from './tokens-file.ts';
import { keyFor } from './signed.ts';
import { Tokens } from './tokens.ts';
import { Veil } from './veil.ts';

export interface LogInDeps {
  readonly log: Logger;
  readonly clock: Clock;
  readonly identityOf: IdentityOf;
  readonly audit: Pick<Audit, 'tell' | 'tellSeldom' | 'links'>;
}

/**
 * People log in and get a session's cookie; programs send a token along with every request.
 * @throws PostriderError `setting-invalid` for a file of tokens that cannot be read
 */
export class LogInAccess implements Access {
  readonly isOpen = false;
  readonly veil: Veil;
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
    this.veil = new Veil(keyFor(this.#key, 'place'));
    this.#cookies = new SessionCookies(new Sessions(this.#key, clock), clock, isSecure);
    if (tokensFile !== undefined)
      this.#tokens = new Tokens(followTokens(tokensFile, log), { key: this.#key, clock, log });
  }

  sessionOf(request: FastifyRequest): Session | undefined {
    const token = bearerToken(request);
    if (token !== undefined) {
      const known = this.#tokens?.whose(token, clientAddress(request));
      if (known === undefined) return undefined;
      return { user: known.name, role: known.role, bodies: true, csrf: '', isOpen: false };
    }
    const claims = this.#cookies.of(request);
    if (claims === undefined) return undefined;
    const { user, subject } = claims;
    const csrf = this.#cookies.sessions.csrfOf(claims);
    if (claims.role === 'customer') return this.#customerSession(claims, csrf);
    const role = this.#roleNow(claims);
    if (role === undefined) return undefined;
    const session: Session = { user, role, bodies: true, csrf, isOpen: false };
    return subject === undefined ? session : { ...session, subject };
  }

  /** A log-out of before this console was started, or of another one. */
  audited({ session }: AuditRecord): void {
    if (session !== undefined) this.#cookies.sessions.end(session);
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
    const { url, oidc, brand } = this.#settings;
    const pages = entrancePages(brand);
    const shared = { ...this.#deps, cookies: this.#cookies, consoleOrigin: url, pages };
    const provider = oidc === undefined ? undefined : new URL(oidc.issuer).host;
    await addLogInRoutes(server, { ...shared, tokens: this.#tokens, provider });
    if (oidc !== undefined && url !== undefined)
      addOidcRoutes(server, { ...shared, key: this.#key, oidc, consoleUrl: url });
    addLinkRoute(server, shared);
  }

  /** Undefined: what the session was begun with lets nobody in any more. */
  #roleNow({ role, token }: Claims): Claims['role'] | undefined {
    if (token !== undefined) return this.#tokens?.byMark(token)?.role;
    return this.#settings.oidc === undefined ? undefined : role;
  }

  /** Undefined: the link was revoked or has expired, or the destination that it shows was deleted. */
  #customerSession({ link: id }: Claims, csrf: string): Session | undefined {
    const { audit, clock, identityOf } = this.#deps;
    const link = id === undefined ? undefined : audit.links.get(id, clock.now());
    if (link === undefined || isGone(link, identityOf)) return undefined;
    const { destination, bodies, untilMs } = link;
    const subject = `link ${link.id}`;
    return {
      user: destination,
      subject,
      role: 'customer',
      destination,
      until: new Date(untilMs).toISOString(),
      bodies,
      csrf,
      isOpen: false,
    };
  }
}

/** Basic is a proxy's business. */
function bearerToken({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}
