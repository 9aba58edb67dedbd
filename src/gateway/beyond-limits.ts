import { maxCallBytes, maxDepth } from '../event/limits.ts';
import { isDeeper, type JsonObject } from '../event/read-json.ts';
import type { Rejection } from '../event/rejection.ts';
import { batchItems } from './batch-items.ts';

/** A call of a batch that is too large or too deep, as it was sent. */
export interface BeyondLimits {
  readonly rejection: Rejection;
  readonly bytes: Buffer;
}

export const tooDeep: string = `Objects and arrays of a call are nested deeper than ${maxDepth}.`;

/**
 * By their index in the batch. To find calls in the body takes half as long as to parse it, so it is done only
 * where a call may be beyond a limit. A call that is too large by its spaces alone is within them.
 */
export function findBeyondLimits(
  body: Buffer,
  calls: readonly unknown[],
): ReadonlyMap<number, BeyondLimits> {
  const found = new Map<number, BeyondLimits>();
  // A small body has no call that is too large, however many escapes its strings may take.
  const suspectBytes = body.length > maxCallBytes ? maxCallBytes : Number.MAX_SAFE_INTEGER;
  const suspects = calls.map((call) => mostBytes(call, maxDepth) > suspectBytes);
  if (!suspects.includes(true)) return found;
  batchItems(body).forEach((bytes, index) => {
    const rejection =
      suspects[index] === true ? objectionTo(calls[index], bytes.length) : undefined;
    if (rejection !== undefined) found.set(index, { rejection, bytes });
  });
  return found;
}

export function objectionTo(
  call: unknown,
  bytes: number,
): { readonly reason: 'too-large' | 'too-deep'; readonly detail: string } | undefined {
  if (bytes > maxCallBytes) {
    const detail = `A call has ${bytes} bytes; the limit is ${maxCallBytes}.`;
    return { reason: 'too-large', detail };
  }
  return isTooDeep(call) ? { reason: 'too-deep', detail: tooDeep } : undefined;
}

function isTooDeep(item: unknown): boolean {
  return typeof item === 'object' && item !== null && isDeeper(item, maxDepth);
}

/** JSON writes no character, and no number, true, false or null, with more bytes than this. */
const [mostCharacterBytes, mostNumberBytes] = [6, 25];

/** A bound on the bytes of the value as JSON without spaces; Infinity if it is deeper than `levels`. */
function mostBytes(value: unknown, levels: number): number {
  if (typeof value === 'string') return mostCharacterBytes * value.length + 2;
  if (typeof value !== 'object' || value === null) return mostNumberBytes;
  if (levels === 0) return Infinity;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) bytes += mostBytes(item, levels - 1) + 1;
    return bytes;
  }
  for (const key in value) {
    const item = (value as JsonObject)[key];
    bytes += mostCharacterBytes * key.length + 4 + mostBytes(item, levels - 1);
  }
  return bytes;
}
