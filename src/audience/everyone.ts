import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import type { Baseline } from './identify.ts';

/**
 * How far a run has come that tells everyone, by partition of `audience-members`: a record under
 * `<audience>/everyone`, written together with the calls. So one that was cut off goes on where it was. That
 * of partition 0 is there from the run's beginning to its end; without it, the others are of a run that is over.
 */
export interface Everyone extends Baseline {
  /** Users up to this one were told, in the order of their ids' bytes. */
  readonly after: string;
}

/** What was begun longer ago than this is begun anew: its calls would say a time long past. */
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

/** What is known of a run that was cut off and wanted the same; undefined: there is none. */
export function cutOffRun(
  progress: ReadonlyMap<number, string>,
  wanted: Pick<Baseline, 'destinations' | 'isTakenBack'>,
  nowMs: number,
): { readonly baseline: Baseline; readonly after: ReadonlyMap<number, string> } | undefined {
  const found = new Map(
    Array.from(progress, ([partition, text]) => [partition, JSON.parse(text) as Everyone]),
  );
  const first = found.get(0);
  if (first === undefined || nowMs - first.timeMs > mostAgeMs) return undefined;
  const { sync, timeMs, destinations, isTakenBack } = first;
  if (String(destinations) !== String(wanted.destinations)) return undefined;
  if (isTakenBack !== wanted.isTakenBack) return undefined;
  const after = new Map(
    Array.from(found).flatMap(([partition, each]) =>
      each.sync === sync ? [[partition, each.after]] : [],
    ),
  );
  return { baseline: { ...wanted, sync, timeMs }, after };
}

/** Ids in the order in which the database sorts them. */
export function isUpTo(userId: string, after: string): boolean {
  return Buffer.compare(Buffer.from(userId), Buffer.from(after)) <= 0;
}
