import { destinationsIn, type AuditEntry, type RunOutcome } from '../../event/audit-entry.ts';
import type { Redrive, RunRow } from '../api/answers/actions.ts';
import type { EndsOfRun } from '../index/sent-again.ts';

/**
 * The runs that the audit tells of, the newest first.
 * @param entries the newest first
 * @param here a run of this process
 */
export function runsOf(
  entries: readonly AuditEntry[],
  here: (id: string) => Redrive | undefined,
): readonly RunRow[] {
  const ends = new Map<string, AuditEntry>();
  for (const entry of entries) if (entry.began !== undefined) ends.set(entry.began, entry);
  return entries
    .filter(({ isRun }) => isRun === true)
    .map((entry) => rowOf(entry, ends.get(entry.id), here(entry.id)));
}

function rowOf(begun: AuditEntry, end: AuditEntry | undefined, here: Redrive | undefined): RunRow {
  const { id, at, user, name, via, action, customer, detail: chosen } = begun;
  const destinations = destinationsIn(begun);
  const row = {
    id,
    at,
    user,
    name,
    via,
    action,
    customer,
    chosen,
    ...(destinations.length === 0 ? {} : { destinations }),
  };
  const more =
    end !== undefined
      ? {
          state: end.outcome ?? 'done',
          endedAt: end.at,
          sent: end.sent,
          outcome: end.became,
          detail: end.detail,
        }
      : here !== undefined
        ? { state: here.state, sent: here.sent, outcome: here.outcome, detail: here.detail }
        : { state: 'unfinished' };
  const said = Object.entries({ ...row, ...more }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as unknown as RunRow;
}

/** True once the end of the run and of each of its events is known. */
export function isSettled({ state, outcome, sent = 0 }: RunRow): boolean {
  if (state === 'running' || state === 'unfinished') return false;
  return sent === 0 || (outcome !== undefined && outcome.waiting + outcome.other === 0);
}

/**
 * The fates of the events that were sent: attempts go on where the run stopped looking. They may tell of fewer, if
 * no lines are written of deliveries.
 * @param before what the run itself saw
 */
export function outcomeOf(
  sent: number,
  seen: EndsOfRun,
  before: RunOutcome | undefined,
): RunOutcome {
  const delivered = Math.min(sent, Math.max(seen.delivered, before?.delivered ?? 0));
  const refused = Math.min(sent - delivered, Math.max(seen.refused, before?.refused ?? 0));
  const { dropped } = seen;
  const rest = Math.max(0, sent - delivered - refused - dropped);
  const isSeen = seen.delivered + seen.refused + dropped + seen.waiting > 0;
  const waiting = Math.min(rest, isSeen ? seen.waiting : (before?.waiting ?? 0));
  const outcome = { delivered, refused, waiting, other: rest - waiting };
  return dropped === 0 ? outcome : { ...outcome, dropped };
}
