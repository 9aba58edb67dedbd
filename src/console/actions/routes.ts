import type { FastifyInstance } from 'fastify';
import { PostriderError } from '../../errors.ts';
import type { AuditEntry } from '../../event/audit-entry.ts';
import { operatorOf, whoIs } from '../access/sessions.ts';
import { answer } from '../api/answers/answers.ts';
import { inTime } from '../api/in-time.ts';
import { accept } from '../api/parameters.ts';
import { ProblemError } from '../api/problem.ts';
import type { Redrive } from '../api/run-model.ts';
import type { Audit } from './audit.ts';
import type { Operations, Selection } from './operations.ts';
import type { Runs } from './runs.ts';

export interface ActionDeps {
  readonly operations: Operations;
  readonly runs: Runs;
  readonly audit: Pick<Audit, 'write' | 'tell'>;
}

interface OfDestination {
  readonly id: string;
}

/** What operators may do. Each is written to the audit before it is done. */
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

function addRedrives(api: FastifyInstance, { operations, runs, audit }: ActionDeps): void {
  api.post<{ Body: Selection & { readonly dryRun?: boolean } }>(
    '/redrives',
    {
      schema: {
        summary:
          'Send dead letters again, or count them with `dryRun` for as long as somebody asks how far it is',
        response: answer('redrive'),
        body: accept(['destination', 'reason', 'since', 'until', 'dryRun']),
      },
    },
    async (request): Promise<Redrive> => {
      const who = whoIs(operatorOf(request));
      const { dryRun = false, ...selection } = request.body;
      if (dryRun) return runs.count(operations.count(selection));
      const work = operations.redrive(selection);
      const { destination, ...rest } = selection;
      const done = {
        ...who,
        action: 'redrive',
        ...(destination === undefined ? {} : { destination }),
      } as const;
      const which = Object.entries(rest).map(([name, value]) => `${name} ${value}`);
      const chosen = which.length === 0 ? {} : { detail: which.join(', ') };
      const id = await audit.write({ ...done, isRun: true, ...chosen });
      return runs.start(id, work, endOf(audit, done));
    },
  );
}

const pauseIsLate =
  'Kafka has not answered for ten seconds. The destination may still be paused; the audit will say how it ended.';
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

/** What the audit has said is done was not. */
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
