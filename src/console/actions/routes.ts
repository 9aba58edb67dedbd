import type { FastifyInstance } from 'fastify';
import { PostriderError } from '../../errors.ts';
import type { AuditEntry } from '../../event/audit-entry.ts';
import { counted } from '../../printable.ts';
import { inTime } from '../../http-api/in-time.ts';
import { ProblemError } from '../../http-api/problem.ts';
import { operatorOf, whoIs } from '../access/sessions.ts';
import { answer } from '../api/answers/answers.ts';
import { accept } from '../api/parameters.ts';
import type { Redrive } from '../api/answers/actions.ts';
import type { Audit } from './audit.ts';
import type { CallChoice, LetterChoice, Operations } from './operations.ts';
import type { Runs } from './runs.ts';

export interface ActionDeps {
  readonly operations: Operations;
  readonly runs: Runs;
  readonly audit: Pick<Audit, 'write' | 'tell'>;
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
      return { items: await act(audit, done, testIsLate, () => operations.sendTest(destination)) };
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
      return { items: await act(audit, done, retryIsLate, () => operations.retry(destination)) };
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
      await act(audit, done, pauseIsLate, () => operations.pause(destination));
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

function addRedrives(api: FastifyInstance, { operations, runs, audit }: ActionDeps): void {
  api.post<{ Body: LetterChoice & Asked }>(
    '/redrives',
    {
      schema: {
        summary:
          'Send dead letters again, or count them with `dryRun` for as long as somebody asks how far it is',
        response: answer('redrive'),
        body: accept(['destination', 'message', 'user', ...howFields]),
      },
    },
    async (request): Promise<Redrive> => {
      const who = whoIs(operatorOf(request));
      const { dryRun = false, all = false, ...choice } = request.body;
      if (dryRun) return runs.count(operations.count(choice));
      if (!all) refuseAll(choice, 'destination, reason, since, until, message, user or places');
      const work = operations.redrive(choice);
      const { destination } = choice;
      const whose = destination === undefined ? {} : { destination };
      const done = { ...who, action: 'redrive', ...whose } as const;
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

/**
 * A request that forgot what it selects must not send everything.
 * @throws ProblemError 400
 */
function refuseAll(choice: LetterChoice & CallChoice, fields: string): void {
  if (Object.keys(choice).some((name) => name !== 'again' && name !== 'rate')) return;
  throw new ProblemError(
    400,
    `Nothing is selected. Give ${fields}; or "all": true, which sends everything that is kept.`,
  );
}

/** The choice in words, for the audit. User and message are left out: the audit outlives the deletion of a user. */
function chosenText(choice: LetterChoice & CallChoice): { readonly detail?: string } {
  const { user, message, places, again } = choice;
  const texts = (['source', 'reason', 'since', 'until', 'rate'] as const).flatMap((name) => {
    const value = choice[name];
    return value === undefined ? [] : [`${name} ${value}`];
  });
  if (user !== undefined) texts.push('of one user');
  if (message !== undefined) texts.push('one event');
  if (places !== undefined) texts.push(counted(places.length, 'place'));
  if (again === true) texts.push('also what was sent again before');
  return texts.length === 0 ? {} : { detail: texts.join(', ') };
}

const pauseIsLate =
  'Kafka has not answered for ten seconds. The destination may still be paused; the audit will say how it ended.';
const retryIsLate =
  'Nothing is known of an answer after ten seconds. What waits may still be sent; the audit will say how it ended.';
/** It has Kafka to read first, and then the endpoint to answer. */
const testIsLate =
  'The test has not ended within ten seconds. It may still be sent; the audit will say how it ended.';

/**
 * Does what an operator asks for once the audit has it. What takes too long goes on, and the audit is told how it
 * ended.
 * @param late what the operator is told then
 * @throws ProblemError 503 after ten seconds
 */
async function act<T>(
  audit: ActionDeps['audit'],
  done: Done,
  late: string,
  begin: () => Promise<T>,
): Promise<T> {
  await audit.write(done);
  const work = begin();
  try {
    return await inTime(work, late);
  } catch (error) {
    // Operations throw no such errors, so it is late.
    if (error instanceof ProblemError) tellLater(audit, done, work);
    else tellFailure(audit, done, error);
    throw error;
  }
}

function tellLater(audit: ActionDeps['audit'], done: Done, work: Promise<unknown>): void {
  work.then(
    () => {
      audit.tell({ ...done, detail: 'done after all' });
    },
    (error: unknown) => {
      tellFailure(audit, done, error);
    },
  );
}

/** Records that an action failed which the audit has as done. */
function tellFailure(audit: ActionDeps['audit'], done: Done, error: unknown): void {
  if (error instanceof PostriderError)
    audit.tell({ ...done, outcome: 'refused', detail: error.message }, error);
  else audit.tell({ ...done, outcome: 'failed', detail: 'the log says why' }, error);
}

type Done = Pick<AuditEntry, 'user' | 'name' | 'action' | 'destination'>;

function endOf(audit: ActionDeps['audit'], done: Done): (ended: Redrive) => void {
  return ({ id: began, state, sent, outcome: became, detail }) => {
    const outcome = state === 'failed' ? ({ outcome: 'failed' } as const) : {};
    const known = became === undefined ? {} : { became };
    audit.tell({
      ...done,
      ...outcome,
      began,
      sent,
      ...known,
      ...(detail === undefined ? {} : { detail }),
    });
  };
}
