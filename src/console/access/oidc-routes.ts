import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { clientAddress } from '../../ops/client-ip.ts';
import type { Clock } from '../../ops/clock.ts';
import { IdentityProvider, LogInError, type LogInUnderWay } from './identity-provider.ts';
import { sendPage, type Entrance } from './log-in-routes.ts';
import { nextPath } from './next-path.ts';
import { personName, roleOf } from './role-of.ts';
import type { OidcSettings } from './settings.ts';
import { whoIs } from './sessions.ts';
import { keyFor, readSigned, sha256, sign } from './signed.ts';

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
  const { cookies, log, audit, clock, oidc, consoleUrl, pages } = deps;
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
      const claims = await provider.finish(query, underWay);
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
      cookies.begin(reply, { user, subject, role });
      return await sendPage(reply, 200, pages.goOn(underWay.next));
    } catch (error) {
      return refuse(reply, error);
    }
  });
}
