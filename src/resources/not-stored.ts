import { PostriderError } from '../errors.ts';
import { hintAmong } from '../near.ts';

/**
 * The error for an id that no stored resource has. It names those that are stored.
 * @param what as in a sentence, e.g. `source`
 */
export function notStored(what: string, id: string, known: readonly string[]): PostriderError {
  const others =
    known.length === 0
      ? '; there are none yet: apply one first'
      : hintAmong(id, known, 'known are');
  return new PostriderError('not-found', `there is no ${what} ${id}${others}`);
}
