import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../ops/clock.ts';
import { isDeleted, linkPath, readLink, type EndedMs } from './customer-link.ts';
import { sendPage, type Entrance } from './log-in-routes.ts';
import { goOnPage, refusalPage } from './page-html.ts';

interface LinkRouteDeps extends Entrance {
  readonly clock: Clock;
  readonly key: Buffer;
  readonly endedMs: EndedMs;
}

/** Whoever has a customer's link gets a session that sees one destination. */
export function addLinkRoute(
  server: FastifyInstance,
  { cookies, log, clock, key, endedMs }: LinkRouteDeps,
): void {
  // Not `:token`: parameters have a length.
  server.get<{ Params: { readonly '*': string } }>(`${linkPath}*`, ({ params, ip }, reply) => {
    const link = readLink(key, params['*'], clock.now());
    if (link === undefined) {
      const sentence = 'This link has expired or is incomplete. Ask the sender for a new one.';
      return sendPage(reply, 403, refusalPage(sentence, false));
    }
    if (isDeleted(link, endedMs)) {
      const sentence =
        'This link was for a destination that has been deleted. Ask the sender for a new one.';
      return sendPage(reply, 403, refusalPage(sentence, false));
    }
    const { destination, formerEndMs, bodies, untilMs } = link;
    log.info({ destination, address: ip }, "a customer's link to the console was opened");
    const shown = { destination, formerEndMs, bodies };
    cookies.begin(reply, { user: destination, role: 'customer', ...shown }, untilMs);
    return sendPage(reply, 200, goOnPage('/'));
  });
}
