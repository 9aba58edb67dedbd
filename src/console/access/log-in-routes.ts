import fastifyFormbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { clientAddress } from '../../ops/client-ip.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { personName } from '../../http-api/claims.ts';
import { ProblemError } from '../../http-api/problem.ts';
import { linkPath } from '../../resources/customers/link-terms.ts';
import type { Audit } from '../actions/audit.ts';
import { customerPath, isGone, type IdentityOf, type LinksToCustomers } from './customer-link.ts';
import {
  IdentityProvider,
  LogInError,
  roleOf,
  type LogInUnderWay,
  type OidcSettings,
} from './identity-provider.ts';
import { style, stylePath, type EntrancePages } from './page-html.ts';
import { isMeant, provenance, provenanceOf, whoIs, type SessionCookies } from './sessions.ts';
import { sha256 } from '../../http-api/tokens.ts';
import { keyFor, readSigned, sign } from './signed.ts';
import type { MarkedTokens } from './tokens.ts';

/** The parts that all routes before the log-in need. */
interface Entrance {
  readonly cookies: SessionCookies;
  readonly log: Logger;
  readonly audit: Pick<Audit, 'tell' | 'tellSeldom'>;
  /** The public one. */
  readonly consoleOrigin: string | undefined;
  readonly pages: EntrancePages;
  /** True if sessions of those who may change something have to carry what the API is asked with. */
  readonly passesOn: boolean;
}

interface LogInRoutesDeps extends Entrance {
  readonly tokens: MarkedTokens | undefined;
  /** The name of the identity provider's host. */
  readonly provider: string | undefined;
}

type Form = Readonly<Record<string, unknown>>;

const fromElsewhere =
  'The form did not come from this console; go to its log-in page and try again.';

/** The page to log in, its form for tokens, and the way out. */
export async function addLogInRoutes(
  server: FastifyInstance,
  { cookies, log, audit, consoleOrigin, pages, passesOn, tokens, provider }: LogInRoutesDeps,
): Promise<void> {
  const page = (next: string, problem?: string): string =>
    pages.logIn({ provider, hasTokens: tokens !== undefined }, next, problem);

  // Forms are read here only: the API takes JSON, which no form of another site can send.
  await server.register(async (scope) => {
    await scope.register(fastifyFormbody);

    scope.get(stylePath, (_request, reply) => reply.type('text/css; charset=utf-8').send(style));

    scope.get<{ Querystring: Form }>('/login', ({ query }, reply) =>
      sendPage(reply, 200, page(nextPath(query['next']))),
    );

    scope.post<{ Body: Form | undefined }>('/login', (request, reply) => {
      const { token, next } = request.body ?? {};
      const to = nextPath(next);
      // Nobody is logged in yet, so there is no CSRF token; every browser says where a form comes from.
      if (provenance(provenanceOf(request), consoleOrigin) !== 'own')
        return sendPage(reply, 403, pages.refusal(fromElsewhere, true));
      const given = typeof token === 'string' ? token.trim() : '';
      if (tokens === undefined || given === '')
        return sendPage(reply, 400, page(to, 'Give a token.'));
      try {
        const address = clientAddress(request);
        const known = tokens.whose(given, address);
        if (known === undefined) return sendPage(reply, 401, page(to, 'This token is not known.'));
        const { name, role } = known;
        log.info({ user: name, role, address }, 'logged in to the console');
        audit.tell({ user: name, action: 'log-in', detail: `as ${role}, with a token` });
        const who = { user: name, role, token: tokens.markOf(known) };
        const mayChange = passesOn && role === 'operator';
        cookies.begin(reply, who, mayChange ? given : undefined);
        return reply.redirect(to, 303);
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error;
        return sendPage(reply, error.status, page(to, error.message));
      }
    });

    // A browser names a customer's link in the address: it may have opened several.
    scope.get<{ Querystring: Form }>('/logout', (request, reply) => {
      const { link } = request.query;
      const claims = cookies.of(request, link);
      const who = claims && { ...claims, csrf: cookies.sessions.csrfOf(claims) };
      return sendPage(reply, 200, pages.logOut(who, link !== undefined));
    });

    scope.post<{ Body: Form | undefined }>('/logout', (request, reply) => {
      const link = request.body?.['link'];
      const claims = cookies.of(request, link);
      if (claims !== undefined) {
        const csrf = cookies.sessions.csrfOf(claims);
        const given = request.headers['x-csrf-token'] ?? request.body?.['csrf'];
        if (!isMeant(request, csrf, given, consoleOrigin))
          return sendPage(reply, 403, pages.refusal(fromElsewhere, false));
        cookies.end(reply, claims);
        const { id, untilMs, role } = claims;
        // Of a customer's: whoever has the link could begin another.
        if (role !== 'customer')
          audit.tell({ ...whoIs(claims), action: 'log-out', session: { id, untilMs } });
      }
      const isByLink = typeof link === 'string';
      return reply.redirect(isByLink ? `/logout?link=${encodeURIComponent(link)}` : '/logout', 303);
    });
  });
}

interface OidcRoutesDeps extends Entrance {
  readonly clock: Clock;
  readonly key: Buffer;
  readonly oidc: OidcSettings;
  readonly consoleUrl: string;
}

interface Kept extends LogInUnderWay {
  readonly next: string;
  readonly untilMs: number;
}

const kept: z.ZodType<Kept> = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
  untilMs: z.number(),
});

const callbackPath = '/login/callback';
/** A password, a second factor, and looking for the phone. */
const underWayMs = 10 * 60_000;

/** The way to the identity provider, and back. */
export function addOidcRoutes(server: FastifyInstance, deps: OidcRoutesDeps): void {
  const { cookies, log, audit, clock, oidc, consoleUrl, pages, passesOn } = deps;
  const key = keyFor(deps.key, 'log-in');
  const { roles } = oidc;
  const callback = new URL(callbackPath, consoleUrl).href;
  const provider = new IdentityProvider({ ...oidc, callback, roleClaim: roles.claim }, clock, log);
  // Said in the log where it is away; the console starts all the same.
  void provider.check();

  const isSecure = consoleUrl.startsWith('https:');
  // Not SameSite=Strict: it has to come along when the provider sends somebody back.
  const attributes = {
    path: callbackPath,
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
  } as const;
  // One for each log-in under way: a browser may open several pages at once.
  const cookieName = (state: string): string =>
    `${isSecure ? '__Secure-' : ''}postrider-login-${sha256(state).toString('hex').slice(0, 16)}`;

  const underWayOf = ({ query, cookies: given }: FastifyRequest): Kept | undefined => {
    const { state } = query as { readonly state?: unknown };
    const cookie = typeof state === 'string' ? given[cookieName(state)] : undefined;
    if (cookie === undefined) return undefined;
    return readSigned(key, kept, cookie, clock.now());
  };

  const refuse = (reply: FastifyReply, error: unknown): FastifyReply => {
    if (!(error instanceof LogInError)) throw error;
    return sendPage(reply, error.status, pages.refusal(error.message, true));
  };

  server.get<{ Querystring: { readonly next?: unknown } }>(
    '/login/oidc',
    async ({ query }, reply) => {
      try {
        const { url, underWay } = await provider.begin();
        const untilMs = clock.now() + underWayMs;
        const signed = sign(key, { ...underWay, next: nextPath(query.next), untilMs });
        reply.setCookie(cookieName(underWay.state), signed, {
          ...attributes,
          maxAge: underWayMs / 1_000,
        });
        return await reply.header('cache-control', 'no-store').redirect(url.href, 303);
      } catch (error) {
        return refuse(reply, error);
      }
    },
  );

  server.get(callbackPath, async (request, reply) => {
    const underWay = underWayOf(request);
    if (underWay === undefined)
      return sendPage(
        reply,
        403,
        pages.refusal(
          'This log-in was started in another browser, or too long ago; start again.',
          true,
        ),
      );
    reply.clearCookie(cookieName(underWay.state), attributes);
    try {
      const query = request.url.slice(request.url.indexOf('?'));
      const { claims, idToken } = await provider.finish(query, underWay);
      const role = roleOf(claims, roles);
      const user = personName(claims);
      const subject = `${oidc.issuer} ${String(claims['sub'])}`;
      const who = { user, subject, address: clientAddress(request) };
      if (role === undefined) {
        log.warn(who, 'the console refused a user without a role');
        const refused = { action: 'log-in', outcome: 'refused', detail: 'without a role' } as const;
        audit.tellSeldom({ ...whoIs(who), ...refused });
        return await sendPage(
          reply,
          403,
          pages.refusal(
            `You are logged in as ${user}, but you have no access to this console: your account has none of the values in the claim ${roles.claim} that give a role. Ask the people who run it.`,
            false,
          ),
        );
      }
      log.info({ ...who, role }, 'logged in to the console');
      audit.tell({ ...whoIs(who), action: 'log-in', detail: `as ${role}` });
      const mayChange = passesOn && role === 'operator';
      cookies.begin(reply, { user, subject, role }, mayChange ? idToken : undefined);
      return await sendPage(reply, 200, pages.goOn(underWay.next));
    } catch (error) {
      return refuse(reply, error);
    }
  });
}

interface LinkRouteDeps extends Entrance {
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'tellSeldom' | 'tell' | 'links'>;
  readonly identityOf: IdentityOf;
  readonly customerLinks: LinksToCustomers;
}

/** Opening a customer's link begins a session that sees one destination, or all of a customer's. */
export function addLinkRoute(
  server: FastifyInstance,
  { cookies, log, clock, identityOf, audit, customerLinks, pages, passesOn }: LinkRouteDeps,
): void {
  const opened = "a customer's link to the console was opened";
  // Not `:token`: parameters have a length.
  server.get<{ Params: { readonly '*': string } }>(`${linkPath}*`, (request, reply) => {
    const token = request.params['*'];
    const all = customerLinks.byToken(token, clock.now());
    if (all !== undefined) {
      const { id, customer, manage } = all;
      log.info({ customer, link: id, address: clientAddress(request) }, opened);
      const detail = `of customer ${customer}`;
      audit.tellSeldom({ user: `link ${id}`, action: 'open-link', detail });
      const credential = passesOn && manage ? token : undefined;
      cookies.beginBy(all, customer, request, reply, credential);
      return sendPage(reply, 200, pages.goOn(`${customerPath}${id}`));
    }
    const link = audit.links.byToken(token, clock.now());
    if (link === undefined) {
      const sentence =
        'This link has expired, was revoked, or is incomplete. Ask the sender for a new one.';
      return sendPage(reply, 403, pages.refusal(sentence, false));
    }
    if (isGone(link, identityOf)) {
      const sentence =
        'This link was for a destination that has been deleted. Ask the sender for a new one.';
      return sendPage(reply, 403, pages.refusal(sentence, false));
    }
    const { id, destination } = link;
    log.info({ destination, link: id, address: clientAddress(request) }, opened);
    audit.tellSeldom({ user: `link ${id}`, action: 'open-link', destination });
    cookies.beginBy(link, destination, request, reply);
    return sendPage(reply, 200, pages.goOn(`${customerPath}${id}`));
  });
}

const base = 'http://console.invalid';

/**
 * The page of this console to go to after a log-in, whatever was given.
 * @param given the query's `next`, which anybody can have put into a link
 */
export function nextPath(given: unknown): string {
  const url = typeof given === 'string' && given.startsWith('/') ? URL.parse(given, base) : null;
  if (url?.origin !== base) return '/';
  const path = `${url.pathname}${url.search}${url.hash}`;
  // `/.//elsewhere.example` becomes `//elsewhere.example`, which browsers take for a host.
  if (path.startsWith('//')) return '/';
  return /^\/(?:login|logout|l|api)(?:[/?#]|$)/.test(path) ? '/' : path;
}

function sendPage(reply: FastifyReply, status: number, html: string): FastifyReply {
  return (
    reply
      .code(status)
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      // With `no-referrer`, a form's POST says `Origin: null`.
      .header('referrer-policy', 'same-origin')
      .send(html)
  );
}
