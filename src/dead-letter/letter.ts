import type { IncomingRecord } from '../kafka/record.ts';

/** A record that was given up, with the reason. */
export interface Letter {
  readonly record: IncomingRecord;
  readonly reason: string;
  readonly detail: string;
}

/** Where a letter lies in its topic. */
export interface Place {
  readonly partition: number;
  readonly offset: number;
}

/** How operators name a letter: `<partition>:<offset>` in its topic. */
export function placeText({ partition, offset }: Place): string {
  return `${partition}:${offset}`;
}
