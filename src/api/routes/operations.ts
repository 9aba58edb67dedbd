import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PostriderError } from '../../errors.ts';
import type { AuditAction } from '../../event/audit-entry.ts';
import { CallLimit } from '../../http-api/call-limit.ts';
import { inTime } from '../../http-api/in-time.ts';
import { ProblemError } from '../../http-api/problem.ts';
import type { Clock } from '../../ops/clock.ts';
import { act, chosenText, late, type AuditOfActions, type Done } from '../../operations/audited.ts';
import type { LetterChoice, Operations } from '../../operations/operations.ts';
import type { RunProgress, Runs } from '../../operations/runs.ts';
import { reaches, type Caller } from '../access/caller.ts';
import { models } from '../answers.ts';
import type { ApiRuns } from '../api-runs.ts';
import { nothing, run, tested } from '../operation-answers.ts';
import { accept } from '../parameters.ts';
import { callerOf } from '../server.ts';

export interface OperationDeps {
  readonly operations: Operations;
  readonly runs: ApiRuns;
  readonly counts: Pick<Runs, 'countWithin'>;
  readonly audit: AuditOfActions;
  readonly clock: Clock;
  /** Undefined: there is no destination of the id. */
  readonly customerOf: (id: string) => { readonly customer: string | undefined } | undefined;
}

interface OfDestination {
  readonly id: string;
}

/** Somebody waits for it. */
const countMs = 8_000;
/** For each destination: its endpoint gets them all, and it may be anybody's. */
const testsPerSecond = 1;

const params = accept(['id'], ['id']);

/** Actions about a destination: those of the console's operators, each in the audit before it is done. */
export function addOperationRoutes(api: FastifyInstance, deps: OperationDeps): void {
  addToDestination(api, deps);
  addRedrive(api, deps);
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
        items: await told(caller, id, () =>
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
        items: await told(caller, id, () =>
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
      await told(caller, id, () => act(audit, done, late.pause, () => operations.pause(id)));
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

type Selected = Omit<LetterChoice, 'destination' | 'places'> & { readonly dryRun?: boolean };

function addRedrive(api: FastifyInstance, deps: OperationDeps): void {
  const { operations, runs, counts } = deps;
  api.post<{
    Params: OfDestination;
    Querystring: { readonly dryRun?: boolean };
    Body: Selected;
  }>(
    '/destinations/:id/redrive',
    {
      config: { scope: 'operate' },
      // Without a choice, a body is not needed.
      preValidation: withBody,
      schema: {
        summary:
          'Send its dead letters again, all or those of a choice; with `dryRun`, count them at once',
        params,
        querystring: accept(['dryRun']),
        body: accept(['reason', 'since', 'until', 'message', 'user', 'again', 'rate', 'dryRun']),
        response: { ...models.answer(run), ...models.answer(run, 202) },
      },
    },
    async (request, reply) => {
      const { caller, id, done, customer } = asked(request, 'redrive', deps);
      const { dryRun = false, ...given } = request.body;
      // A rate decides how long others wait behind it.
      if (caller.customers !== undefined && given.rate !== undefined)
        throw new ProblemError(403, 'The rate is not for customers to choose; leave it out.');
      const choice = { ...given, destination: id };
      if (dryRun || request.query.dryRun === true) {
        const { isCut, ...counted } = await told(caller, id, () =>
          inTime(counts.countWithin(countMs, operations.count(choice))),
        );
        const shown = shownTo(caller, counted);
        return isCut ? { ...shown, detail: 'There may be more: counting takes long.' } : shown;
      }
      const work = operations.redrive(choice);
      const begun = await runs.start({ done, ...chosenText(given), customer, work });
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
      const { destination } = found ?? {};
      const customer = destination === undefined ? undefined : customerOf(destination)?.customer;
      if (found === undefined || !reaches(caller, customer))
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

interface Asked {
  readonly caller: Caller;
  readonly id: string;
  readonly customer: string | undefined;
  readonly done: Done;
}

/** @throws ProblemError 404, also for a destination of another customer: its id is not told */
function asked(
  request: FastifyRequest<{ Params: OfDestination }>,
  action: AuditAction,
  { customerOf }: OperationDeps,
): Asked {
  const caller = callerOf(request);
  const { id } = request.params;
  const found = customerOf(id);
  if (found === undefined || !reaches(caller, found.customer)) throw noDestination(id);
  const { customer } = found;
  return { caller, id, customer, done: { ...whoDoes(caller), action, destination: id } };
}

/** The author of an action, for the audit. */
export function whoDoes({ user, name }: Caller): Pick<Done, 'user' | 'name' | 'via'> {
  return { user, ...(name === undefined ? {} : { name }), via: 'api' };
}

function noDestination(id: string): ProblemError {
  return new ProblemError(404, `There is no destination ${id}.`);
}

/**
 * Does it for a caller. Sentences for operators may name destinations of others, topics, and commands, which a customer
 * is not told.
 */
async function told<T>(caller: Caller, id: string, doIt: () => Promise<T>): Promise<T> {
  try {
    return await doIt();
  } catch (error) {
    if (caller.customers === undefined || !(error instanceof PostriderError)) throw error;
    if (error.code === 'usage') throw error;
    throw error.code === 'not-found'
      ? noDestination(id)
      : new ProblemError(503, 'This cannot be done now; try again later.', { retryAfterS: 10 });
  }
}

/** The same of the progress of a run. */
function shownTo({ customers }: Caller, progress: RunProgress): RunProgress {
  if (customers === undefined) return progress;
  const { id, state, found, sent, outcome } = progress;
  const shown = { id, state, found, sent, ...(outcome === undefined ? {} : { outcome }) };
  return shown.state === 'failed' ? { ...shown, detail: 'It failed; try again later.' } : shown;
}
