import type { FastifyInstance } from 'fastify';
import { ofDestinations } from '../../event/audit-entry.ts';
import { ProblemError } from '../../http-api/problem.ts';
import { act, chosenText, endOf, late, refuseAll } from '../../operations/audited.ts';
import type { CallChoice, LetterChoice, Operations } from '../../operations/operations.ts';
import type { Runs } from '../../operations/runs.ts';
import { operatorOf, whoIs } from '../access/sessions.ts';
import { answer } from '../api/answers/answers.ts';
import { accept } from '../api/parameters.ts';
import type { Redrive } from '../api/answers/actions.ts';
import type { Audit } from './audit.ts';

export interface ActionDeps {
  readonly operations: Operations;
  readonly runs: Runs;
  readonly audit: Pick<Audit, 'write' | 'tell'>;
  /** The ids of the destinations that a customer has now. */
  readonly destinationsOf: (customer: string) => ReadonlySet<string>;
}

interface OfDestination {
  readonly id: string;
}

/** The actions of operators. Each is written to the audit before it is done. */
export function addActions(api: FastifyInstance, deps: ActionDeps): void {
  addToDestination(api, deps);
  addRedrives(api, deps);
}

function addToDestination(api: FastifyInstance, { operations, runs, audit }: ActionDeps): void {
  const params = accept(['id'], ['id']);
  api.post<{ Params: OfDestination }>(
    '/destinations/:id/test',
    {
      schema: {
        summary: 'Send a test event to each of its URLs',
        response: answer('tested'),
        params,
      },
    },
    async (request) => {
      const destination = request.params.id;
      const done = { ...whoIs(operatorOf(request)), action: 'send-test', destination } as const;
      return { items: await act(audit, done, late.test, () => operations.sendTest(destination)) };
    },
  );
  api.post<{ Params: OfDestination }>(
    '/destinations/:id/retry',
    {
      schema: {
        summary: 'Send now what waits to be tried again, if the endpoint takes the first of it',
        response: answer('tested'),
        params,
      },
    },
    async (request) => {
      const destination = request.params.id;
      const done = { ...whoIs(operatorOf(request)), action: 'retry', destination } as const;
      return { items: await act(audit, done, late.retry, () => operations.retry(destination)) };
    },
  );
  api.post<{ Params: OfDestination }>(
    '/destinations/:id/pause',
    {
      schema: {
        summary: 'Send it nothing; its events are kept',
        response: answer('nothing'),
        params,
      },
    },
    async (request) => {
      const destination = request.params.id;
      const done = { ...whoIs(operatorOf(request)), action: 'pause', destination } as const;
      await act(audit, done, late.pause, () => operations.pause(destination));
      return {};
    },
  );
  api.post<{ Params: OfDestination }>(
    '/destinations/:id/resume',
    {
      schema: {
        summary: 'Send to it again, and what was kept',
        response: answer('redrive'),
        params,
      },
    },
    async (request) => {
      const destination = request.params.id;
      const done = { ...whoIs(operatorOf(request)), action: 'resume', destination } as const;
      const id = await audit.write({ ...done, isRun: true });
      return runs.start(id, operations.resume(destination), endOf(audit, done));
    },
  );
}

interface Asked {
  readonly dryRun?: boolean;
  /** Nothing is selected on purpose. */
  readonly all?: boolean;
}

const howFields = ['reason', 'since', 'until', 'places', 'again', 'rate', 'all', 'dryRun'] as const;

function addRedrives(
  api: FastifyInstance,
  { operations, runs, audit, destinationsOf }: ActionDeps,
): void {
  api.post<{ Body: LetterChoice & Asked }>(
    '/redrives',
    {
      schema: {
        summary:
          'Send dead letters again, or count them with `dryRun` for as long as somebody asks how far it is',
        response: answer('redrive'),
        body: accept(['destination', 'customer', 'message', 'user', ...howFields]),
      },
    },
    async (request): Promise<Redrive> => {
      const who = whoIs(operatorOf(request));
      const { dryRun = false, all = false, ...choice } = request.body;
      const { destination, customer } = choice;
      const named = destination === undefined ? [] : [destination];
      const ids = customer === undefined ? named : [...destinationsOf(customer)];
      if (customer !== undefined && ids.length === 0)
        throw new ProblemError(404, `Customer ${customer} has no destination.`);
      if (dryRun) return runs.count(operations.count(choice));
      if (!all)
        refuseAll(choice, 'destination, customer, reason, since, until, message, user or places');
      const work = operations.redrive(choice);
      const whose = customer === undefined ? {} : { customer };
      const done = { ...who, action: 'redrive', ...whose, ...ofDestinations(ids) } as const;
      const id = await audit.write({ ...done, isRun: true, ...chosenText(choice) });
      return runs.start(id, work, endOf(audit, done));
    },
  );
  api.post<{ Body: CallChoice & Asked }>(
    '/rejected/redrives',
    {
      schema: {
        summary: 'Send calls that could not be routed again, or count them with `dryRun`',
        response: answer('redrive'),
        body: accept(['source', ...howFields]),
      },
    },
    async (request): Promise<Redrive> => {
      const who = whoIs(operatorOf(request));
      const { dryRun = false, all = false, ...choice } = request.body;
      if (dryRun) return runs.count(operations.countCalls(choice));
      if (!all) refuseAll(choice, 'source, reason, since, until or places');
      const work = operations.redriveCalls(choice);
      const done = { ...who, action: 'redrive-rejected' } as const;
      const id = await audit.write({ ...done, isRun: true, ...chosenText(choice) });
      return runs.start(id, work, endOf(audit, done));
    },
  );
}
