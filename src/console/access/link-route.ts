import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../ops/clock.ts';
import { isGone, linkPath, readLink, type IdentityOf } from './customer-link.ts';
import { sendPage, type Entrance } from './log-in-routes.ts';
import { goOnPage, refusalPage } from './page-html.ts';

interface LinkRouteDeps extends Entrance {
  readonly clock: Clock;
  readonly key: Buffer;
  readonly identityOf: IdentityOf;
}

/** Whoever has a customer's link gets a session that sees one destination. */
export function addLinkRoute(
  server: FastifyInstance,
  { cookies, log, clock, key, identityOf }: LinkRouteDeps,
): void {
  // Not `:token`: parameters have a length.
  server.get<{ Params: { readonly '*': string } }>(`${linkPath}*`, ({ params, ip }, reply) => {
    const link = readLink(key, params['*'], clock.now());
    if (link === undefined) {
      const sentence = 'This link has expired or is incomplete. Ask the sender for a new one.';
      return sendPage(reply, 403, refusalPage(sentence, false));
    }
    if (isGone(link, identityOf)) {
      const sentence =
        'This link was for a destination that has been deleted. Ask the sender for a new one.';
      return sendPage(reply, 403, refusalPage(sentence, false));
    }
    const { destination, uid, bodies, untilMs } = link;
    log.info({ destination, address: ip }, "a customer's link to the console was opened");
    const shown = { destination, uid, bodies };
    cookies.begin(reply, { user: destination, role: 'customer', ...shown }, untilMs);
    return sendPage(reply, 200, goOnPage('/'));
  });
}
