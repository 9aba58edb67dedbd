import { isMendable } from '../event/rejection.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { Topology } from '../topology.ts';
import type { Letter } from './letter.ts';
import { readLetters, type TimeRange } from './read-letters.ts';
import { readRejected, writeKeyOf } from './rejected.ts';

/** Which rejected calls an operator means; a condition that is not given holds for all. */
export interface RejectedSelection extends TimeRange {
  readonly reasons?: ReadonlySet<string> | undefined;
  /** The record's key, which is the user's id unless the producer chose another. */
  readonly key?: string | undefined;
  /** Those of one source. */
  readonly writeKeys?: ReadonlySet<string> | undefined;
}

export async function* selectRejected(
  kafka: KafkaClient,
  { topics }: Topology,
  selection: RejectedSelection,
): AsyncGenerator<Letter, void, undefined> {
  for await (const record of readLetters(kafka, topics.ingestRejected, selection)) {
    const letter = readRejected(record);
    if (isSelected(letter, selection)) yield letter;
  }
}

/** Those whose cause can be mended; the others, which would only be rejected again, go to `onLeft`. */
export async function* worthSending(
  letters: AsyncIterable<Letter>,
  onLeft: (letter: Letter) => void,
): AsyncGenerator<Letter, void, undefined> {
  for await (const letter of letters) {
    if (isMendable(letter.reason)) yield letter;
    else onLeft(letter);
  }
}

export function isSelected({ record, reason }: Letter, selection: RejectedSelection): boolean {
  const { reasons, key, writeKeys } = selection;
  if (reasons !== undefined && !reasons.has(reason)) return false;
  if (key !== undefined && record.key?.toString() !== key) return false;
  if (writeKeys === undefined) return true;
  const writeKey = writeKeyOf(record);
  return writeKey !== undefined && writeKeys.has(writeKey);
}
