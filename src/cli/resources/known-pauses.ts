import { PostriderError } from '../../errors.ts';
import { readPauses, type Pauses } from '../../resources/pauses/pauses.ts';
import type { Context } from '../context.ts';

/** What is paused, or the sentence that says why this principal must not know: its rights may be of a former release. */
export async function knownPauses(context: Context): Promise<Pauses | string> {
  try {
    return await readPauses(context.kafka, await context.topology());
  } catch (error) {
    if (error instanceof PostriderError && error.code === 'kafka-refused') return error.message;
    throw error;
  }
}
