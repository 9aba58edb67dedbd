import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import fastifyCookie from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { PostriderError } from '../../errors.ts';
import type { AuditRecord } from '../../event/audit-entry.ts';
import { bearerToken } from '../../http-api/tokens.ts';
import { clientAddress } from '../../ops/client-ip.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import type { Audit } from '../actions/audit.ts';
import type { Session } from '../api/answers/deployment.ts';
import type { Brand } from '../brand/brand.ts';
import { isGone, type IdentityOf, type LinksToCustomers } from './customer-link.ts';
import type { OidcSettings } from './identity-provider.ts';
import { addLinkRoute, addLogInRoutes, addOidcRoutes } from './log-in-routes.ts';
import { entrancePages } from './page-html.ts';
import { Veil } from './seen-by.ts';
import { isMeant, SessionCookies, Sessions, type Claims, type HeldSession } from './sessions.ts';
import { keyFor } from './signed.ts';
import { MarkedTokens } from './tokens.ts';

/** The settings that decide who may use the console. */
export interface AccessSettings {
  /** The address that the console listens on. */
  readonly host: string;
  /** Its public origin. */
  readonly url: string | undefined;
  /** The name, the logo and the accent of pages. */
  readonly brand: Brand;
  /** Undefined: one of this process alone, so a start ends all sessions. */
  readonly sessionKey: Buffer | undefined;
  readonly tokensFile: string | undefined;
  /** Needs `url`, where the provider sends people back to. */
  readonly oidc: OidcSettings | undefined;
  /** True if there is an API, which requests of those who may change destinations are passed on to. */
  readonly passesOn: boolean;
  /** Origins whose pages may show a customer's pages in a frame. */
  readonly frameAncestors: readonly string[];
}

/** Decides who may use the console. Every request is checked here. */
export interface Access {
  /** For what customers see of places in topics. */
  readonly veil: Veil;
  /** Nobody logs in, so it may listen on loopback only. */
  readonly isOpen: boolean;
  /**
   * Undefined: nobody who may see anything.
   * @throws ProblemError 429 for an address that has guessed too often
   */
  sessionOf(request: FastifyRequest): Session | undefined;
  /** The credential to ask the API with for a request whose session has `manage`; undefined: nobody logs in. */
  credentialOf(request: FastifyRequest): string | undefined;
  /** By the header `Host`: whether the request was meant for this console. */
  allowsHost(host: string | undefined): boolean;
  /** True for a request to change something that a page of this console, or a program, sends on purpose. */
  isMeant(request: FastifyRequest): boolean;
  /** A record of the audit, of whoever wrote it: it may end a session. */
  audited(record: AuditRecord): void;
  /** Log-in, log-out and links of customers. */
  addRoutes(server: FastifyInstance): Promise<void>;
}

export interface LogInDeps {
  readonly log: Logger;
  readonly clock: Clock;
  readonly identityOf: IdentityOf;
  readonly customerLinks: LinksToCustomers;
  readonly audit: Pick<Audit, 'tell' | 'tellSeldom' | 'links'>;
}

/** @throws PostriderError `setting-invalid`, also where everybody could come in from elsewhere */
export function createAccess(settings: AccessSettings, deps: LogInDeps): Access {
  const { host, tokensFile, oidc } = settings;
  if (tokensFile !== undefined || oidc !== undefined) return new LogInAccess(settings, deps);
  if (isLoopback(host)) return openAccess(settings);
  throw new PostriderError(
    'setting-invalid',
    `CONSOLE_HOST is ${host}, which other machines can reach, and log-in is off: set CONSOLE_OIDC_ISSUER or CONSOLE_TOKENS_FILE, or leave CONSOLE_HOST at 127.0.0.1`,
  );
}

function isLoopback(host: string): boolean {
  if (isIP(host) !== 0) return ipaddr.process(host).range() === 'loopback';
  return host.toLowerCase() === 'localhost';
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Without log-in: whoever reaches loopback may do everything. The name in `Host` is looked at, because a page
 * of somebody else's domain that resolves to 127.0.0.1 (DNS rebinding) would reach it too; and because any
 * page can send a POST here, there is a CSRF token all the same.
 */
export function openAccess({ passesOn }: Pick<AccessSettings, 'passesOn'>): Access {
  const session: Session = {
    user: 'local',
    role: 'operator',
    bodies: true,
    ...(passesOn ? { manage: true } : {}),
    csrf: randomBytes(32).toString('base64url'),
    isOpen: true,
  };
  return {
    isOpen: true,
    veil: new Veil(randomBytes(32)),
    sessionOf: () => session,
    credentialOf: () => undefined,
    allowsHost: (host) => {
      const name = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d{1,5})?$/i.exec(host ?? '')?.[1];
      return name !== undefined && loopbackNames.has(name.toLowerCase());
    },
    isMeant: (request) =>
      isMeant(request, session.csrf, request.headers['x-csrf-token'], undefined),
    audited: () => undefined,
    addRoutes: () => Promise.resolve(),
  };
}

/**
 * People log in and get a session's cookie; programs send a token along with every request.
 * @throws PostriderError `setting-invalid` for a file of tokens that cannot be read
 */
class LogInAccess implements Access {
  readonly isOpen = false;
  readonly veil: Veil;
  readonly #settings: AccessSettings;
  readonly #deps: LogInDeps;
  readonly #key: Buffer;
  readonly #cookies: SessionCookies;
  readonly #tokens: MarkedTokens | undefined;

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
    const isFramed = settings.frameAncestors.length > 0;
    this.#cookies = new SessionCookies(new Sessions(this.#key, clock), clock, {
      isSecure,
      isFramed,
    });
    if (tokensFile !== undefined)
      this.#tokens = new MarkedTokens(tokensFile, { key: this.#key, clock, log });
  }

  sessionOf(request: FastifyRequest): Session | undefined {
    const token = bearerToken(request.headers);
    if (token !== undefined) {
      const known = this.#tokens?.whose(token, clientAddress(request));
      if (known === undefined) return undefined;
      const { name: user, role } = known;
      return this.#staffSession({ user, role, credential: token }, '');
    }
    const claims = this.#cookies.of(request);
    if (claims === undefined) return undefined;
    const csrf = this.#cookies.sessions.csrfOf(claims);
    if (claims.role === 'customer') return this.#customerSession(claims, csrf);
    const role = this.#roleNow(claims);
    return role === undefined ? undefined : this.#staffSession({ ...claims, role }, csrf);
  }

  credentialOf(request: FastifyRequest): string | undefined {
    return bearerToken(request.headers) ?? this.#cookies.of(request)?.credential;
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
    if (bearerToken(request.headers) !== undefined) return true;
    const claims = this.#cookies.of(request);
    if (claims === undefined) return false;
    const csrf = this.#cookies.sessions.csrfOf(claims);
    return isMeant(request, csrf, request.headers['x-csrf-token'], this.#settings.url);
  }

  async addRoutes(server: FastifyInstance): Promise<void> {
    await server.register(fastifyCookie);
    const { url, oidc, brand, passesOn } = this.#settings;
    const pages = entrancePages(brand);
    const shared = { ...this.#deps, cookies: this.#cookies, consoleOrigin: url, pages, passesOn };
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

  #staffSession(
    { user, subject, role, credential }: Omit<HeldSession, 'id' | 'untilMs'>,
    csrf: string,
  ): Session {
    const { passesOn } = this.#settings;
    const mayManage = passesOn && role === 'operator' && credential !== undefined;
    return {
      user,
      ...(subject === undefined ? {} : { subject }),
      role,
      bodies: true,
      ...(mayManage ? { manage: true } : {}),
      csrf,
      isOpen: false,
    };
  }

  /** Undefined: the link was revoked or has expired, or the one destination that it shows was deleted. */
  #customerSession({ link: id, credential }: HeldSession, csrf: string): Session | undefined {
    const { audit, clock, identityOf, customerLinks } = this.#deps;
    if (id === undefined) return undefined;
    const all = customerLinks.get(id, clock.now());
    const link = all ?? audit.links.get(id, clock.now());
    if (link === undefined || ('destination' in link && isGone(link, identityOf))) return undefined;
    const mayManage = this.#settings.passesOn && all?.manage === true && credential !== undefined;
    return {
      user: 'customer' in link ? link.customer : link.destination,
      subject: `link ${link.id}`,
      role: 'customer',
      ...('customer' in link ? { customer: link.customer } : { destination: link.destination }),
      until: new Date(link.untilMs).toISOString(),
      bodies: link.bodies,
      ...(mayManage ? { manage: true } : {}),
      csrf,
      isOpen: false,
    };
  }
}
