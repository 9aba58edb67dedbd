import { parseDuration, roughDuration } from '../../duration.ts';
import { PostriderError } from '../../errors.ts';

export interface Freshness {
  readonly nowMs: number;
  /** Data is used however old it is. */
  readonly allowOld: boolean;
}

/**
 * Refuses data that is older than its audience allows: whatever writes it has probably stopped, and a sync of it would
 * count as a success.
 * @param what the file, or what else the data is
 * @param maxAge a duration; undefined where any age is right
 * @param atMs when the data was written; undefined if nobody says
 * @throws PostriderError `input-invalid`
 */
export function requireFresh(
  what: string,
  maxAge: string | undefined,
  atMs: number | undefined,
  { nowMs, allowOld }: Freshness,
): void {
  const mostMs = maxAge === undefined ? undefined : parseDuration(maxAge);
  if (mostMs === undefined || allowOld) return;
  if (atMs !== undefined && nowMs - atMs <= mostMs) return;
  const age =
    atMs === undefined
      ? 'does not say when it was written'
      : `is from ${new Date(atMs).toISOString()}, ${roughDuration(nowMs - atMs)} ago`;
  throw new PostriderError(
    'input-invalid',
    `${what} ${age}, and maxAge is ${String(maxAge)}; nothing was sent. If that is right, use --allow-old`,
  );
}
