import type { Envelope } from '../event/envelope.ts';

/**
 * When the record may be attempted; undefined: at once. A deletion's notification waits at least
 * `fenceMs` after its append, whatever its envelope says: the command that wrote it may have had a clock
 * of its own, or another timeout.
 */
export function dueTimeMs(
  { type, dueMs }: Envelope,
  appendMs: number,
  fenceMs: number,
): number | undefined {
  if (dueMs === undefined || type !== 'delete') return dueMs;
  return Math.max(dueMs, appendMs + fenceMs);
}
