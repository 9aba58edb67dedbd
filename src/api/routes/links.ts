import type { FastifyInstance, FastifyRequest } from 'fastify';
import { inTime } from '../../http-api/in-time.ts';
import { ProblemError } from '../../http-api/problem.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { Clock } from '../../ops/clock.ts';
import type { AuditOfActions } from '../../operations/audited.ts';
import { linkDurations, linkPath, readLinkDuration } from '../../resources/customers/link-terms.ts';
import {
  linkRecord,
  madeCustomersLink,
  makeCustomersLink,
  revokedCustomersLink,
  revokedLinkRecord,
  type CustomersLink,
  type CustomersLinks,
} from '../../resources/customers/links.ts';
import { reaches, requireScopes, scopes, type Caller } from '../access/caller.ts';
import { models } from '../answers.ts';
import { whoDoes, withBody } from '../asked.ts';
import { requireReach } from '../customers.ts';
import { linkPage, madeLink, nothing } from '../operation-answers.ts';
import { accept } from '../parameters.ts';
import { callerOf } from '../server.ts';

export interface LinkRouteDeps {
  readonly links: () => Pick<CustomersLinks, 'get' | 'working'>;
  readonly audit: AuditOfActions;
  readonly producer: Pick<Producer, 'send'>;
  /** The topic of the links. */
  readonly topic: string;
  readonly clock: Clock;
  /** The console's public address, if it is known here. */
  readonly consoleUrl: string | undefined;
}

interface OfCustomer {
  readonly customer: string;
}

interface Wishes {
  readonly expires?: string;
  readonly manage?: boolean;
  readonly bodies?: boolean;
}

/** Links to customers, which an application makes for whoever has logged in there. Nothing shows a link's token again. */
export function addLinkRoutes(api: FastifyInstance, deps: LinkRouteDeps): void {
  const { links, audit, producer, topic, clock, consoleUrl } = deps;
  const params = accept(['customer'], ['customer']);
  api.post<{ Params: OfCustomer; Body: Wishes }>(
    '/customers/:customer/links',
    {
      config: { scope: 'write' },
      preValidation: withBody,
      schema: {
        summary: 'Make a link to the page of a customer',
        params,
        body: accept(['expires', 'manage', 'bodies']),
        response: models.answer(madeLink, 201),
      },
    },
    async (request, reply) => {
      const { customer } = request.params;
      const caller = requireCustomer(request, customer);
      const { expires = '7d', manage = false, bodies = false } = request.body;
      // Nobody gives away more than it has.
      if (manage) requireScopes(caller, scopes, 'A link that manages needs');
      const lastsMs = readLinkDuration(expires);
      if (lastsMs === undefined)
        throw new ProblemError(400, `expires is ${expires}; allowed: a duration ${linkDurations}.`);
      const nowMs = clock.now();
      const who = whoDoes(caller);
      const { token, link } = makeCustomersLink({
        customer,
        manage,
        bodies,
        untilMs: nowMs + lastsMs,
        user: who.user,
        ...(who.name === undefined ? {} : { name: who.name }),
        at: new Date(nowMs).toISOString(),
      });
      await audit.write({ ...who, ...madeCustomersLink(link) });
      await inTime(producer.send([linkRecord(topic, link)]));
      const path = `${linkPath}${token}`;
      const url = consoleUrl === undefined ? {} : { url: new URL(path, consoleUrl).href };
      return reply.code(201).send({ ...shown(link), path, ...url });
    },
  );
  api.get<{ Params: OfCustomer }>(
    '/customers/:customer/links',
    {
      config: { scope: 'read' },
      schema: {
        summary: "A customer's links that work, the newest first",
        params,
        response: models.answer(linkPage),
      },
    },
    (request) => {
      const { customer } = request.params;
      requireCustomer(request, customer);
      const working = links().working(clock.now(), customer);
      return {
        items: working.map((link) => ({
          ...shown(link),
          made: link.at,
          by: link.user,
          ...(link.name === undefined ? {} : { name: link.name }),
        })),
      };
    },
  );
  api.post<{ Params: { readonly id: string } }>(
    '/links/:id/revoke',
    {
      config: { scope: 'write' },
      schema: {
        summary: 'End a link, and every session that was begun with it',
        params: accept(['id'], ['id']),
        response: models.answer(nothing),
      },
    },
    async (request) => {
      const caller = requireNoLink(request);
      const { id } = request.params;
      const link = links().get(id, clock.now());
      if (link === undefined || !reaches(caller, link.customer))
        throw new ProblemError(404, `No link ${id} works.`);
      await audit.write({ ...whoDoes(caller), ...revokedCustomersLink(link) });
      await inTime(producer.send([revokedLinkRecord(topic, id)]));
      return {};
    },
  );
}

function shown({ id, customer, manage, bodies, untilMs }: CustomersLink): object {
  return { id, customer, manage, bodies, until: new Date(untilMs).toISOString() };
}

/** @throws ProblemError 403 for a link; of `requireReach` */
function requireCustomer(request: FastifyRequest, customer: string): Caller {
  const caller = requireNoLink(request);
  requireReach(caller, customer);
  return caller;
}

/**
 * Otherwise a link's holder could make one that lasts longer, or end those of others.
 * @throws ProblemError 403
 */
function requireNoLink(request: FastifyRequest): Caller {
  const caller = callerOf(request);
  if (caller.linkId === undefined) return caller;
  throw new ProblemError(
    403,
    'Links are made, listed and ended with a token, and not with a link.',
  );
}
