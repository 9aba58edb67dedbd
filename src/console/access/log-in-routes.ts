import fastifyFormbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { clientAddress } from '../../ops/client-ip.ts';
import type { Logger } from '../../ops/log.ts';
import type { Audit } from '../actions/audit.ts';
import { ProblemError } from '../api/problem.ts';
import { isMeant, provenance, provenanceOf } from './meant.ts';
import { nextPath } from './next-path.ts';
import { style, stylePath, type EntrancePages } from './page-html.ts';
import { whoIs } from './sessions.ts';
import type { SessionCookies } from './session-cookies.ts';
import type { Tokens } from './tokens.ts';

/** The parts that all routes before the log-in need. */
export interface Entrance {
  readonly cookies: SessionCookies;
  readonly log: Logger;
  readonly audit: Pick<Audit, 'tell' | 'tellSeldom'>;
  /** The public one. */
  readonly consoleOrigin: string | undefined;
  readonly pages: EntrancePages;
}

interface LogInRoutesDeps extends Entrance {
  readonly tokens: Tokens | undefined;
  /** The name of the identity provider's host. */
  readonly provider: string | undefined;
}

type Form = Readonly<Record<string, unknown>>;

const fromElsewhere =
  'The form did not come from this console; go to its log-in page and try again.';

/** The page to log in, its form for tokens, and the way out. */
export async function addLogInRoutes(
  server: FastifyInstance,
  { cookies, log, audit, consoleOrigin, pages, tokens, provider }: LogInRoutesDeps,
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
        cookies.begin(reply, { user: name, role, token: tokens.markOf(known) });
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

export function sendPage(reply: FastifyReply, status: number, html: string): FastifyReply {
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
