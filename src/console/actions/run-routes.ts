import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../ops/clock.ts';
import { answer } from '../api/answers/answers.ts';
import { opened, page, type OfDestination, type Paged } from '../api/routes/route.ts';
import type { Page } from '../api/answers/shapes.ts';
import type { RunOutcome } from '../../event/audit-entry.ts';
import { decodeCursor } from '../../http-api/cursor.ts';
import { ProblemError } from '../../http-api/problem.ts';
import type { Redrive, RunRow } from '../api/answers/actions.ts';
import { accept } from '../api/parameters.ts';
import type { Index } from '../index/index.ts';
import { whatBecame } from '../index/sent-again.ts';
import type { Audit } from './audit.ts';
import { isSettled, outcomeOf, runsOf } from './run-list.ts';
import type { Runs } from '../../operations/runs.ts';

export interface RunDeps {
  readonly index: Index;
  readonly audit: Pick<Audit, 'entries'>;
  readonly runs: Pick<Runs, 'find'>;
  readonly clock: Clock;
}

/** The index has attempts of three days. */
const attemptsMs = 3 * 86_400_000;
/** All attempts since it began are looked through for a run, so they are not more often than that. */
const freshMs = 5_000;
const mostRemembered = 500;

interface Looked {
  readonly atMs: number;
  readonly row: Promise<RunRow>;
  /** Nothing more becomes of its events. */
  isSettled: boolean;
}

/** Runs that were begun here or by commands, and what becomes of their events. */
export function addRunRoutes(api: FastifyInstance, deps: RunDeps): void {
  const { audit, runs, clock } = deps;
  const looked = new Map<string, Looked>();
  const all = (): readonly RunRow[] => runsOf(audit.entries(), (id) => runs.find(id));
  const withOutcome = (row: RunRow): Promise<RunRow> => {
    const nowMs = clock.now();
    const known = looked.get(row.id);
    if (known !== undefined && (known.isSettled || Math.abs(nowMs - known.atMs) < freshMs))
      return known.row;
    const made: Looked = { atMs: nowMs, row: look(deps, row, nowMs), isSettled: false };
    looked.delete(row.id);
    looked.set(row.id, made);
    made.row.then(
      (each) => (made.isSettled = isSettled(each)),
      // A failure is not remembered.
      () => looked.delete(row.id),
    );
    for (const id of looked.keys()) {
      if (looked.size <= mostRemembered) break;
      looked.delete(id);
    }
    return made.row;
  };
  api.get<{ Querystring: Paged }>(
    '/runs',
    {
      schema: {
        summary: 'Redrives, resumes and deletions of users, the newest first',
        response: answer('runPage'),
        querystring: accept(['cursor', 'limit']),
      },
    },
    async ({ query: { cursor, limit } }): Promise<Page<RunRow>> => {
      const before = decodeCursor(cursor, 'string')?.[0];
      const rows = all();
      const from = before === undefined ? 0 : rows.findIndex(({ id }) => id === before) + 1;
      const items: RunRow[] = [];
      // One after the other: a page is not to take all of the index for itself.
      for (const row of rows.slice(from, from + limit)) items.push(await withOutcome(row));
      const last = items.at(-1);
      return page(items, last === undefined || from + limit >= rows.length ? undefined : [last.id]);
    },
  );
  api.get<{ Params: OfDestination }>(
    '/redrives/:id',
    {
      schema: {
        summary: 'How far sending again is',
        response: answer('redrive'),
        params: accept(['id'], ['id']),
      },
    },
    async ({ params: { id } }): Promise<Redrive> => {
      const here = runs.find(id);
      if (here?.state === 'counting' || here?.state === 'running') return here;
      const row = all().find((each) => each.id === id);
      if (row === undefined && here !== undefined) return here;
      if (row === undefined) throw new ProblemError(404, 'There is no such run.');
      return redriveOf(await withOutcome(row));
    },
  );
}

function redriveOf({ id, state, sent = 0, outcome, detail }: RunRow): Redrive {
  return {
    id,
    state:
      state === 'done'
        ? 'done'
        : state === 'running' || state === 'unfinished'
          ? 'running'
          : 'failed',
    found: sent,
    sent,
    ...(outcome === undefined ? {} : { outcome }),
    ...(detail === undefined ? {} : { detail }),
  };
}

async function look({ index }: RunDeps, row: RunRow, nowMs: number): Promise<RunRow> {
  const { at, endedAt, action, customer, destinations, state } = row;
  const fromMs = Date.parse(at);
  const sendsAttempts = action === 'redrive' || action === 'resume';
  // The attempts of everybody would be told as theirs.
  const isUnnamed = customer !== undefined && destinations === undefined;
  if (!sendsAttempts || isUnnamed || isSettled(row) || !(nowMs - fromMs < attemptsMs)) return row;
  const untilMs = endedAt === undefined ? nowMs : Date.parse(endedAt);
  const seen = await whatBecame(opened(index), { destinations, fromMs, untilMs });
  const seenCount = seen.delivered + seen.refused + seen.dropped + seen.waiting;
  const sent = state === 'unfinished' ? seenCount : (row.sent ?? 0);
  const outcome: RunOutcome = outcomeOf(sent, seen, row.outcome);
  return { ...row, sent, outcome };
}
