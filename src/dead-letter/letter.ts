import type { Origin } from '../event/parse-call.ts';
import type { IncomingRecord } from '../kafka/record.ts';

/** A record that was given up, with the reason. */
export interface Letter {
  readonly record: IncomingRecord;
  readonly reason: string;
  readonly detail: string;
  /** Where the call first arrived. */
  readonly origin: Origin;
}

/** How operators name a letter: `<partition>:<offset>` in its topic. */
export function placeOf({ record }: Letter): string {
  return `${record.partition}:${record.offset}`;
}

/** The key of a letter in `redrives`. */
export function redriveKey({ record }: Letter): string {
  return `${record.topic}:${record.partition}:${record.offset}`;
}
