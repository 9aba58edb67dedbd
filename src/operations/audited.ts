import { PostriderError } from '../errors.ts';
import type { AuditEntry } from '../event/audit-entry.ts';
import type { AuditWriter } from '../http-api/audit-writer.ts';
import { inTime } from '../http-api/in-time.ts';
import { ProblemError } from '../http-api/problem.ts';
import { counted } from '../printable.ts';
import type { CallChoice, LetterChoice } from './operations.ts';
import type { RunProgress } from './runs.ts';

/** The audit, which has each action before it is done. */
export type AuditOfActions = Pick<AuditWriter, 'write' | 'tell'>;

/** An action, and its author, for the audit. */
export type Done = Pick<
  AuditEntry,
  'user' | 'name' | 'via' | 'action' | 'destination' | 'customer' | 'destinations'
>;

const mayBeDone = 'the audit will say how it ended.';

/** The sentences for those who wait longer than ten seconds. */
export const late: Readonly<Record<'pause' | 'retry' | 'test', string>> = {
  pause: `Kafka has not answered for ten seconds. The destination may still be paused; ${mayBeDone}`,
  retry: `Nothing is known of an answer after ten seconds. What waits may still be sent; ${mayBeDone}`,
  // It has Kafka to read first, and then the endpoint to answer.
  test: `The test has not ended within ten seconds. It may still be sent; ${mayBeDone}`,
};

/**
 * Does what somebody asks for once the audit has it. What takes too long goes on, and the audit is told how it
 * ended.
 * @param sentence what whoever asks is told then
 * @throws ProblemError 503 after ten seconds
 */
export async function act<T>(
  audit: AuditOfActions,
  done: Done,
  sentence: string,
  begin: () => Promise<T>,
): Promise<T> {
  await audit.write(done);
  const work = begin();
  try {
    return await inTime(work, sentence);
  } catch (error) {
    // Operations throw no such errors, so it is late.
    if (error instanceof ProblemError) tellLater(audit, done, work);
    else tellFailure(audit, done, error);
    throw error;
  }
}

function tellLater(audit: AuditOfActions, done: Done, work: Promise<unknown>): void {
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
function tellFailure(audit: AuditOfActions, done: Done, error: unknown): void {
  if (error instanceof PostriderError)
    audit.tell({ ...done, outcome: 'refused', detail: error.message }, error);
  else audit.tell({ ...done, outcome: 'failed', detail: 'the log says why' }, error);
}

/** Tells the audit of the end of a run that it has the beginning of. */
export function endOf(audit: AuditOfActions, done: Done): (ended: RunProgress) => void {
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

/**
 * A request that forgot what it selects must not send everything.
 * @throws ProblemError 400
 */
export function refuseAll(choice: LetterChoice & CallChoice, fields: string): void {
  if (Object.keys(choice).some((name) => name !== 'again' && name !== 'rate')) return;
  throw new ProblemError(
    400,
    `Nothing is selected. Give ${fields}; or "all": true, which sends everything that is kept.`,
  );
}

/** The choice in words, for the audit. User and message are left out: the audit outlives the deletion of a user. */
export function chosenText(choice: LetterChoice & CallChoice): { readonly detail?: string } {
  const { user, message, places, again } = choice;
  const texts = (['customer', 'source', 'reason', 'since', 'until', 'rate'] as const).flatMap(
    (name) => {
      const value = choice[name];
      return value === undefined ? [] : [`${name} ${value}`];
    },
  );
  if (user !== undefined) texts.push('of one user');
  if (message !== undefined) texts.push('one event');
  if (places !== undefined) texts.push(counted(places.length, 'place'));
  if (again === true) texts.push('also what was sent again before');
  return texts.length === 0 ? {} : { detail: texts.join(', ') };
}
