import type { Fence } from '../resources/fence/fence.ts';
import type { DeadLetter } from './dead-letter.ts';
import type { Objection } from './sift.ts';

/** Objects to an event whose user was deleted after it, because workers would drop it. */
export function deletedSince(
  { envelope, record }: DeadLetter,
  fence: Pick<Fence, 'covers'>,
): Objection | undefined {
  if (envelope === undefined || fence.covers(envelope, record.key) === undefined) return undefined;
  return { why: 'because their user was deleted after the call' };
}
