import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import type { Baseline } from './calls.ts';

/** The calls about users who did not change, and what they tell. */
export interface ToldBaseline extends Baseline {
  readonly source: string;
  readonly trait: string;
}

/**
 * The progress of a run that sends all users, by partition of `audience-members`: a record under
 * `<audience>/everyone`, written together with the calls, so that an interrupted run can be continued. The
 * record of partition 0 exists from the run's beginning to its end. Without it, the others belong to a run
 * that is over.
 */
export interface Everyone extends ToldBaseline {
  /** Users up to this one were sent, in the order of their ids' bytes. */
  readonly after: string;
}

/** A run that began longer ago starts again, because its calls would have an old time. */
const mostAgeMs = 86_400_000;

export function everyoneKey(id: string): string {
  return `${id}/everyone`;
}

/** @param value undefined: the run is over */
export function everyoneRecord(
  topic: string,
  partition: number,
  id: string,
  value: Everyone | undefined,
): PlacedRecord {
  const text = value === undefined ? null : JSON.stringify(value);
  return { topic, partition, key: everyoneKey(id), value: text };
}

export type WantedBaseline = Pick<Baseline, 'destinations' | 'reached' | 'isTakenBack'>;

/** The progress of an interrupted run with the same options; undefined: there is none. */
export function cutOffRun(
  progress: ReadonlyMap<number, string>,
  wanted: Omit<ToldBaseline, 'sync' | 'timeMs'>,
  nowMs: number,
): { readonly baseline: ToldBaseline; readonly after: ReadonlyMap<number, string> } | undefined {
  const found = new Map(
    Array.from(progress, ([partition, text]) => [partition, JSON.parse(text) as Everyone]),
  );
  const first = found.get(0);
  if (first === undefined || nowMs - first.timeMs > mostAgeMs) return undefined;
  const { sync, timeMs, destinations, isTakenBack, source, trait } = first;
  // A former release did not write it.
  const reached = (first as Partial<Everyone>).reached ?? [];
  if (wanted.reached.some((id) => !reached.includes(id))) return undefined;
  if (String(destinations) !== String(wanted.destinations)) return undefined;
  if (isTakenBack !== wanted.isTakenBack) return undefined;
  if (source !== wanted.source || trait !== wanted.trait) return undefined;
  const after = new Map(
    Array.from(found).flatMap(([partition, each]) =>
      each.sync === sync ? [[partition, each.after]] : [],
    ),
  );
  return { baseline: { ...wanted, sync, timeMs }, after };
}

/** Compares ids in the order in which the database sorts them. */
export function isUpTo(userId: string, after: string): boolean {
  return Buffer.compare(Buffer.from(userId), Buffer.from(after)) <= 0;
}
