/** Greatest `Retry-After` that is followed. */
const mostRetryAfterMs = 300_000;

/**
 * The wait before a batch is sent again, after so many failed attempts: from 0.1 s, doubling to 5 s, minus a
 * random part of up to half, so that clients do not all come back at once.
 */
export function backoffMs(failures: number, random: () => number): number {
  const mostMs = Math.min(100 * 2 ** Math.min(failures - 1, 10), 5_000);
  return mostMs * (1 - random() / 2);
}

/**
 * `Retry-After` (RFC 9110 §10.2.3), seconds, also with a fraction, or a date, as milliseconds from `nowMs`,
 * at most five minutes; undefined for anything else.
 */
export function retryAfterMs(value: string | null, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  const waitMs = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : dateOf(text) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), mostRetryAfterMs);
}

/** NaN for anything but an HTTP date: Date.parse alone would accept "-5" too. */
function dateOf(text: string): number {
  return /^[A-Z][a-z]{2}, .*GMT$/.test(text) ? Date.parse(text) : NaN;
}
