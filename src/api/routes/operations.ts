import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PostriderError } from '../../errors.ts';
import type { AuditAction } from '../../event/audit-entry.ts';
import { CallLimit } from '../../http-api/call-limit.ts';
import { ProblemError } from '../../http-api/problem.ts';
import type { Clock } from '../../ops/clock.ts';
import { act, late, type AuditOfActions, type Done } from '../../operations/audited.ts';
import type { Operations } from '../../operations/operations.ts';
import type { RunProgress } from '../../operations/runs.ts';
import { reaches, type Caller } from '../access/caller.ts';
import { models } from '../answers.ts';
import type { ApiRuns } from '../api-runs.ts';
import { nothing, run, tested } from '../operation-answers.ts';
import { accept } from '../parameters.ts';
import { callerOf } from '../server.ts';

export interface OperationDeps {
  readonly operations: Operations;
  readonly runs: ApiRuns;
  readonly audit: AuditOfActions;
  readonly clock: Clock;
  /** Undefined: there is no destination of the id. */
  readonly customerOf: (id: string) => { readonly customer: string | undefined } | undefined;
}

export interface OfDestination {
  readonly id: string;
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
      const { destinations = [] } = found ?? {};
      // A run of everybody's events names no destination.
      const isTheirs =
        destinations.length > 0 &&
        destinations.every((id) => reaches(caller, customerOf(id)?.customer));
      if (found === undefined || (caller.customers !== undefined && !isTheirs))
        throw new ProblemError(404, 'There is no such run.');
      return shownTo(caller, found.progress);
    },
  );
}

/** For a route whose body may be left out. */
export function withBody(request: FastifyRequest, _reply: unknown, done: () => void): void {
  request.body ??= {};
  done();
}

export interface Asked {
  readonly caller: Caller;
  readonly id: string;
  readonly customer: string | undefined;
  readonly done: Done;
}

/** @throws ProblemError 404, also for a destination of another customer: its id is not told */
export function asked(
  request: FastifyRequest<{ Params: OfDestination }>,
  action: AuditAction,
  directory: Pick<OperationDeps, 'customerOf'>,
): Asked {
  const caller = callerOf(request);
  const { id } = request.params;
  const found = directory.customerOf(id);
  if (found === undefined || !reaches(caller, found.customer)) throw noDestination(id);
  const { customer } = found;
  return { caller, id, customer, done: { ...whoDoes(caller), action, destination: id } };
}

/** The author of an action, for the audit. */
export function whoDoes({ user, name }: Caller): Pick<Done, 'user' | 'name' | 'via'> {
  return { user, ...(name === undefined ? {} : { name }), via: 'api' };
}

export function noDestination(id: string): ProblemError {
  return new ProblemError(404, `There is no destination ${id}.`);
}

/**
 * Does it for a caller. Sentences for operators may name destinations of others, topics, and commands, which a customer
 * is not told.
 * @param missing what a customer is told if there is nothing of the name by now
 */
export async function told<T>(
  caller: Caller,
  missing: ProblemError,
  doIt: () => Promise<T>,
): Promise<T> {
  try {
    return await doIt();
  } catch (error) {
    if (caller.customers === undefined || !(error instanceof PostriderError)) throw error;
    if (error.code === 'usage') throw error;
    throw error.code === 'not-found'
      ? missing
      : new ProblemError(503, 'This cannot be done now; try again later.', { retryAfterS: 10 });
  }
}

/** The same of the progress of a run. */
export function shownTo({ customers }: Caller, progress: RunProgress): RunProgress {
  if (customers === undefined) return progress;
  const { id, state, found, sent, outcome } = progress;
  const shown = { id, state, found, sent, ...(outcome === undefined ? {} : { outcome }) };
  return shown.state === 'failed' ? { ...shown, detail: 'It failed; try again later.' } : shown;
}
