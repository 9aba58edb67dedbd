import type { FastifyInstance } from 'fastify';
import { CallLimit } from '../../http-api/call-limit.ts';
import { ProblemError } from '../../http-api/problem.ts';
import type { Clock } from '../../ops/clock.ts';
import { act, late, type AuditOfActions } from '../../operations/audited.ts';
import type { Operations } from '../../operations/operations.ts';
import { reaches, type Caller } from '../access/caller.ts';
import { models } from '../answers.ts';
import type { ApiRuns } from '../api-runs.ts';
import { asked, noDestination, shownTo, told, type OfDestination } from '../asked.ts';
import type { Directory } from '../directory.ts';
import { nothing, run, tested } from '../operation-answers.ts';
import { accept } from '../parameters.ts';
import { callerOf } from '../server.ts';
import type { ToldRun } from '../told-runs.ts';

export interface OperationDeps {
  readonly operations: Operations;
  readonly runs: ApiRuns;
  readonly audit: AuditOfActions;
  readonly clock: Clock;
  readonly customerOf: Directory['customerOf'];
}

/** For each destination: its endpoint gets them all, and it may be anybody's. */
const testsPerSecond = 1;

const params = accept(['id'], ['id']);

/** Actions about a destination: those of the console's operators, each in the audit before it is done. */
export function addOperationRoutes(api: FastifyInstance, deps: OperationDeps): void {
  addToDestination(api, deps);
  addRun(api, deps);
}

function addToDestination(api: FastifyInstance, deps: OperationDeps): void {
  const { operations, runs, audit, clock } = deps;
  const tests = new CallLimit(testsPerSecond, clock);
  api.post<{ Params: OfDestination }>(
    '/destinations/:id/test',
    {
      config: { scope: 'operate' },
      schema: {
        summary: 'Send a test event to each of its URLs',
        params,
        response: models.answer(tested),
      },
    },
    async (request) => {
      const { caller, id, done } = asked(request, 'send-test', deps);
      tests.take(id, 'One test a second can be sent to a destination; wait a moment.');
      return {
        items: await told(caller, noDestination(id), () =>
          act(audit, done, late.test, () => operations.sendTest(id)),
        ),
      };
    },
  );
  api.post<{ Params: OfDestination }>(
    '/destinations/:id/retry',
    {
      config: { scope: 'operate' },
      schema: {
        summary: 'Send now what waits to be tried again, if the endpoint takes the first of it',
        params,
        response: models.answer(tested),
      },
    },
    async (request) => {
      const { caller, id, done } = asked(request, 'retry', deps);
      tests.take(id, 'Once a second, what waits can be sent to a destination; wait a moment.');
      return {
        items: await told(caller, noDestination(id), () =>
          act(audit, done, late.retry, () => operations.retry(id)),
        ),
      };
    },
  );
  api.post<{ Params: OfDestination }>(
    '/destinations/:id/pause',
    {
      config: { scope: 'operate' },
      schema: {
        summary: 'Send it nothing; its events are kept',
        params,
        response: models.answer(nothing),
      },
    },
    async (request) => {
      const { caller, id, done } = asked(request, 'pause', deps);
      await told(caller, noDestination(id), () =>
        act(audit, done, late.pause, () => operations.pause(id)),
      );
      return {};
    },
  );
  api.post<{ Params: OfDestination }>(
    '/destinations/:id/resume',
    {
      config: { scope: 'operate' },
      schema: {
        summary: 'Send to it again, and what was kept',
        params,
        response: models.answer(run, 202),
      },
    },
    async (request, reply) => {
      const { caller, id, done, customer } = asked(request, 'resume', deps);
      const begun = await runs.start({ done, customer, work: operations.resume(id) });
      return reply.code(202).send(shownTo(caller, begun));
    },
  );
}

function addRun(api: FastifyInstance, { runs, customerOf }: OperationDeps): void {
  api.get<{ Params: OfDestination }>(
    '/runs/:id',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'How far a redrive, a resume or the deletion of a user is',
        params,
        response: models.answer(run),
      },
    },
    (request) => {
      const caller = callerOf(request);
      const found = runs.find(request.params.id);
      if (found === undefined || !isFor(caller, found, customerOf))
        throw new ProblemError(404, 'There is no such run.');
      return shownTo(caller, found.progress);
    },
  );
}

/** Says whether there is a run for the caller. Its customer may have deleted destinations since it began. */
function isFor(
  caller: Caller,
  { customer, destinations }: Pick<ToldRun, 'customer' | 'destinations'>,
  customerOf: OperationDeps['customerOf'],
): boolean {
  if (caller.customers === undefined) return true;
  if (customer !== undefined) return reaches(caller, customer);
  // A run of everybody's events names no destination.
  return (
    destinations.length > 0 && destinations.every((id) => reaches(caller, customerOf(id)?.customer))
  );
}
