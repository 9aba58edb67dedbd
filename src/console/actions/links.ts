import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../ops/clock.ts';
import { ProblemError } from '../../http-api/problem.ts';
import { madeLink, makeLink, revokedLink, type IdentityOf } from '../access/customer-link.ts';
import { linkDurations, readLinkDuration } from '../../resources/customers/link-terms.ts';
import { operatorOf, whoIs } from '../access/sessions.ts';
import { answer } from '../api/answers/answers.ts';
import type { LinkRow } from '../api/answers/actions.ts';
import type { Page } from '../api/answers/shapes.ts';
import { accept } from '../api/parameters.ts';
import type { Audit } from './audit.ts';

interface LinkDeps {
  readonly audit: Pick<Audit, 'write' | 'links'>;
  readonly clock: Clock;
  readonly identityOf: IdentityOf;
}

interface OfDestination {
  readonly id: string;
}

interface Wishes {
  readonly expires?: string;
  readonly bodies?: boolean;
}

/** Links of customers: what the command `console-link` does. */
export function addLinkActions(api: FastifyInstance, { audit, clock, identityOf }: LinkDeps): void {
  api.get(
    '/links',
    {
      schema: {
        summary: "Customers' links that work, the newest first",
        response: answer('linkPage'),
      },
    },
    (): Page<LinkRow> => ({ items: audit.links.working(clock.now(), identityOf) }),
  );
  api.post<{ Params: OfDestination; Body: Wishes }>(
    '/destinations/:id/links',
    {
      schema: {
        summary: 'Make a link that shows a customer this destination',
        response: answer('madeLink'),
        params: accept(['id'], ['id']),
        body: accept(['expires', 'bodies']),
      },
    },
    async (request) => {
      const who = operatorOf(request);
      const { id: destination } = request.params;
      const { expires = '7d', bodies = false } = request.body;
      const identity = identityOf(destination);
      if (identity === undefined)
        throw new ProblemError(404, `There is no destination ${destination}.`);
      const lastsMs = readLinkDuration(expires);
      if (lastsMs === undefined)
        throw new ProblemError(400, `expires is ${expires}; allowed: a duration ${linkDurations}.`);
      const untilMs = clock.now() + lastsMs;
      const { path, link } = makeLink({ destination, uid: identity.uid ?? null, bodies, untilMs });
      await audit.write({ ...whoIs(who), ...madeLink(link) });
      return { id: link.id, path, until: new Date(untilMs).toISOString() };
    },
  );
  api.post<{ Params: OfDestination }>(
    '/links/:id/revoke',
    {
      schema: {
        summary: 'End a link, and every session that was begun with it',
        response: answer('nothing'),
        params: accept(['id'], ['id']),
      },
    },
    async (request) => {
      const who = operatorOf(request);
      const { id } = request.params;
      const link = audit.links.get(id, clock.now());
      if (link === undefined) throw new ProblemError(404, `No link ${id} works.`);
      await audit.write({ ...whoIs(who), ...revokedLink(link) });
      return {};
    },
  );
}
