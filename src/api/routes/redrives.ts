import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ofDestinations } from '../../event/audit-entry.ts';
import { inTime } from '../../http-api/in-time.ts';
import { ProblemError } from '../../http-api/problem.ts';
import { chosenText } from '../../operations/audited.ts';
import type { LetterChoice, Operations, Work } from '../../operations/operations.ts';
import type { Runs } from '../../operations/runs.ts';
import { models } from '../answers.ts';
import type { ApiRuns } from '../api-runs.ts';
import {
  asked,
  notNow,
  shownTo,
  whoDoes,
  withBody,
  type Asked,
  type OfDestination,
} from '../asked.ts';
import { requireReach } from '../customers.ts';
import type { Directory } from '../directory.ts';
import { run } from '../operation-answers.ts';
import { accept } from '../parameters.ts';
import { callerOf } from '../server.ts';

export interface RedriveDeps {
  readonly operations: Pick<Operations, 'redrive' | 'count'>;
  readonly runs: ApiRuns;
  readonly counts: Pick<Runs, 'countWithin'>;
  readonly directory: Pick<Directory, 'customerOf' | 'idsOf'>;
}

type Selected = Omit<LetterChoice, 'destination' | 'customer' | 'places'> & {
  readonly dryRun?: boolean;
};

interface Redriving {
  readonly Querystring: { readonly dryRun?: boolean };
  readonly Body: Selected;
}

/** The letters that a request is about, whatever else it chooses. */
interface Whose extends Omit<Asked, 'id'> {
  readonly choice: Pick<LetterChoice, 'destination' | 'customer'>;
}

/** Somebody waits for it. */
const countMs = 8_000;

/** Dead letters on their way again: those of a destination, and those of all destinations of a customer. */
export function addRedriveRoutes(api: FastifyInstance, deps: RedriveDeps): void {
  const { directory } = deps;
  const counting = new Set<string>();
  api.post<Redriving & { Params: OfDestination }>(
    '/destinations/:id/redrive',
    routeOf('its dead letters', 'id'),
    (request, reply) => {
      const { id, ...rest } = asked(request, 'redrive', directory);
      const whose = { ...rest, choice: { destination: id } };
      return redriven(request, reply, whose, { ...deps, counting });
    },
  );
  api.post<Redriving & { Params: { readonly customer: string } }>(
    '/customers/:customer/redrive',
    routeOf('the dead letters of all destinations of a customer', 'customer'),
    (request, reply) => {
      const caller = callerOf(request);
      const { customer } = request.params;
      requireReach(caller, customer);
      const ids = [...directory.idsOf(customer)];
      if (ids.length === 0) throw new ProblemError(404, `Customer ${customer} has no destination.`);
      const done = { ...whoDoes(caller), action: 'redrive', ...ofDestinations(ids) } as const;
      const whose = { caller, customer, done, choice: { customer } };
      return redriven(request, reply, whose, { ...deps, counting });
    },
  );
}

function routeOf(what: string, name: 'id' | 'customer') {
  return {
    config: { scope: 'operate' },
    // Without a choice, a body is not needed.
    preValidation: withBody,
    schema: {
      summary: `Send ${what} again, all or those of a choice; with \`dryRun\`, count them at once`,
      params: accept([name], [name]),
      querystring: accept(['dryRun']),
      body: accept(['reason', 'since', 'until', 'message', 'user', 'again', 'rate', 'dryRun']),
      response: { ...models.answer(run), ...models.answer(run, 202) },
    },
  } as const;
}

/** The customers who are having their dead letters counted. */
interface Counting {
  readonly counting: Set<string>;
}

async function redriven(
  { query, body }: FastifyRequest<Redriving>,
  reply: FastifyReply,
  whose: Whose,
  deps: RedriveDeps & Counting,
): Promise<object> {
  const { caller, customer, done, choice } = whose;
  const { dryRun = false, ...given } = body;
  const { operations, runs } = deps;
  // A rate decides how long others wait behind it.
  if (caller.customers !== undefined && given.rate !== undefined)
    throw new ProblemError(403, 'The rate is not for customers to choose; leave it out.');
  const chosen = { ...given, ...choice };
  if (dryRun || query.dryRun === true) {
    const { isCut, ...counted } = await countedFor(whose, deps, operations.count(chosen));
    if (counted.state === 'failed' && caller.customers !== undefined) throw notNow();
    const shown = shownTo(caller, counted);
    return isCut ? { ...shown, detail: 'There may be more: counting takes long.' } : shown;
  }
  const work = operations.redrive(chosen);
  const begun = await runs.start({ done, ...chosenText(chosen), customer, work });
  return reply.code(202).send(shownTo(caller, begun));
}

/**
 * Few counts run at a time, because each reads all letters: one customer must not take the places of all. A count that
 * takes too long to be waited for keeps its place until it has ended.
 * @throws ProblemError 429
 */
async function countedFor(
  { caller, customer }: Pick<Whose, 'caller' | 'customer'>,
  { counts, counting }: RedriveDeps & Counting,
  work: Work,
): ReturnType<Runs['countWithin']> {
  if (caller.customers === undefined || customer === undefined)
    return inTime(counts.countWithin(countMs, work));
  if (counting.has(customer))
    throw new ProblemError(
      429,
      'Dead letters of this customer are being counted; wait until that has ended.',
      { retryAfterS: 1 },
    );
  counting.add(customer);
  const counted = counts.countWithin(countMs, work).finally(() => counting.delete(customer));
  return inTime(counted);
}
