import { copied, type IncomingRecord } from '../kafka/record.ts';

/** A record that was given up, with the reason. */
export interface Letter {
  readonly record: IncomingRecord;
  readonly reason: string;
  readonly detail: string;
}

/** The same letter, without the rest of what a fetch brought: one in a thousand may be kept for a while. */
export function owned<L extends Letter>(letter: L): L {
  return { ...letter, record: copied(letter.record) };
}

/** The place of a letter in its topic. */
export interface Place {
  readonly partition: number;
  readonly offset: number;
}

/** The operators' name of a letter: `<partition>:<offset>` in its topic. */
export function placeText({ partition, offset }: Place): string {
  return `${partition}:${offset}`;
}
