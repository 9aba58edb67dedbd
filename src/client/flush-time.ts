/**
 * When a call that is queued now is sent at the latest: `flushAfterMs` after the last flush, where an
 * interval in which nothing was queued counts as a flush of nothing. So nothing has to tick meanwhile.
 * All in epoch milliseconds.
 */
export function nextFlushMs(lastFlushMs: number, flushAfterMs: number, nowMs: number): number {
  // A clock that was set back must not hold calls up.
  const sinceMs = Math.max(0, nowMs - lastFlushMs);
  return nowMs + flushAfterMs - (sinceMs % flushAfterMs);
}
