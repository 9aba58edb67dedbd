import type { FastifyRequest } from 'fastify';
import { PostriderError } from '../errors.ts';
import type { AuditAction } from '../event/audit-entry.ts';
import { ProblemError } from '../http-api/problem.ts';
import type { Done } from '../operations/audited.ts';
import type { RunProgress } from '../operations/runs.ts';
import { reaches, type Caller } from './access/caller.ts';
import type { Directory } from './directory.ts';
import { callerOf } from './server.ts';

/** The parameters of a path about one destination. */
export interface OfDestination {
  readonly id: string;
}

/** For a route whose body may be left out. */
export function withBody(request: FastifyRequest, _reply: unknown, done: () => void): void {
  request.body ??= {};
  done();
}

/** An action that a caller asks for, about a destination that there is for them. */
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
  directory: Pick<Directory, 'customerOf'>,
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
    throw error.code === 'not-found' ? missing : notNow();
  }
}

/** All that a customer is told of a failure: they can do nothing about it. */
export function notNow(): ProblemError {
  return new ProblemError(503, 'This cannot be done now; try again later.', { retryAfterS: 10 });
}

/** The same of the progress of a run. */
export function shownTo({ customers }: Caller, progress: RunProgress): RunProgress {
  if (customers === undefined) return progress;
  const { id, state, found, sent, outcome } = progress;
  const shown = { id, state, found, sent, ...(outcome === undefined ? {} : { outcome }) };
  return shown.state === 'failed' ? { ...shown, detail: 'It failed; try again later.' } : shown;
}
