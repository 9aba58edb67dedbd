import type { FastifyInstance } from 'fastify';
import { clientAddress } from '../../ops/client-ip.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Audit } from '../actions/audit.ts';
import { customerPath, isGone, linkPath, type IdentityOf } from './customer-link.ts';
import { sendPage, type Entrance } from './log-in-routes.ts';

interface LinkRouteDeps extends Entrance {
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'tellSeldom' | 'tell' | 'links'>;
  readonly identityOf: IdentityOf;
}

/** Opening a customer's link begins a session that sees one destination. */
export function addLinkRoute(
  server: FastifyInstance,
  { cookies, log, clock, identityOf, audit, pages }: LinkRouteDeps,
): void {
  // Not `:token`: parameters have a length.
  server.get<{ Params: { readonly '*': string } }>(`${linkPath}*`, (request, reply) => {
    const link = audit.links.byToken(request.params['*'], clock.now());
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
    log.info(
      { destination, link: id, address: clientAddress(request) },
      "a customer's link to the console was opened",
    );
    audit.tellSeldom({ user: `link ${id}`, action: 'open-link', destination });
    cookies.beginBy(link, request, reply);
    return sendPage(reply, 200, pages.goOn(`${customerPath}${id}`));
  });
}
