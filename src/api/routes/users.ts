import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemError } from '../../http-api/problem.ts';
import { act, type AuditOfActions } from '../../operations/audited.ts';
import type { UserOperations } from '../../operations/users.ts';
import type { Caller } from '../access/caller.ts';
import { models } from '../answers.ts';
import type { ApiRuns } from '../api-runs.ts';
import { whoDoes, withBody } from '../asked.ts';
import { affected, nothing, run } from '../operation-answers.ts';
import { accept } from '../parameters.ts';
import { callerOf } from '../server.ts';

export interface UserRouteDeps {
  readonly users: UserOperations;
  readonly runs: ApiRuns;
  readonly audit: AuditOfActions;
}

interface OfUser {
  readonly user: string;
}

const params = accept(['user'], ['user']);

const suppressIsLate =
  'Kafka has not answered for ten seconds. It may still be done; the audit will say how it ended.';

/** Actions about users, for all customers at once. The audit, which outlives the deletion of a user, has no ids. */
export function addUserRoutes(api: FastifyInstance, { users, runs, audit }: UserRouteDeps): void {
  api.post<{
    Params: OfUser;
    Querystring: { readonly dryRun?: boolean };
    Body: { readonly source?: string };
  }>(
    '/users/:user/delete',
    {
      config: { scope: 'operate' },
      preValidation: withBody,
      schema: {
        summary:
          'Tell every enabled destination that a user was deleted, and drop what is on its way; with `dryRun`, say only which',
        params,
        querystring: accept(['dryRun']),
        body: accept(['source']),
        response: { ...models.answer(affected), ...models.answer(run, 202) },
      },
    },
    async (request, reply) => {
      const caller = requireAll(request);
      const { affected: sources, work } = users.deleteUser(
        request.params.user,
        request.body.source,
      );
      if (request.query.dryRun === true)
        return {
          sources: sources.map(({ sourceId, destinationIds, disabledIds }) => ({
            source: sourceId,
            destinations: destinationIds,
            disabled: disabledIds,
          })),
        };
      const detail = `1 user at ${sources.map(({ sourceId }) => sourceId).join(', ')}`;
      const done = { ...whoDoes(caller), action: 'delete-user' } as const;
      const begun = await runs.start({ done, detail, customer: undefined, work });
      return reply.code(202).send(begun);
    },
  );
  api.post<{ Params: OfUser; Body: { readonly lift?: boolean } }>(
    '/users/:user/suppress',
    {
      config: { scope: 'operate' },
      preValidation: withBody,
      schema: {
        summary: 'Route no call of a user any more; with `lift`, route them again',
        params,
        body: accept(['lift']),
        response: models.answer(nothing),
      },
    },
    async (request) => {
      const caller = requireAll(request);
      const { lift = false } = request.body;
      const detail = `${lift ? 'lifted for' : 'began for'} 1 user`;
      const done = { ...whoDoes(caller), action: 'suppress-user', detail } as const;
      await act(audit, done, suppressIsLate, () => users.suppress(request.params.user, lift));
      return {};
    },
  );
}

/** @throws ProblemError 403 for a caller who is bound to customers, because users are everybody's */
function requireAll(request: FastifyRequest): Caller {
  const caller = callerOf(request);
  if (caller.customers === undefined) return caller;
  throw new ProblemError(403, 'This concerns all customers, and you are bound to some.');
}
