/**
 * `Retry-After` (RFC 9110 §10.2.3) as milliseconds from `nowMs`; undefined for anything that is neither
 * seconds nor a date. Some frameworks write seconds with a fraction. A date in the past is 0. Absurd values
 * pass, as large as a number is exact: the caller's deadline bounds them.
 */
export function parseRetryAfterMs(value: string, nowMs: number): number | undefined {
  const text = value.trim();
  if (/^\d+(?:\.\d+)?$/.test(text))
    return Math.min(Math.ceil(Number(text) * 1_000), Number.MAX_SAFE_INTEGER);
  // Date.parse also takes "1" or "-5"; every form of HTTP-date has a weekday's name and a time of day.
  if (!/^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/.test(text)) return undefined;
  // The oldest form (asctime) has no zone and means GMT.
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** The longest wait in a header that came several times, as proxies add theirs. */
export function longestRetryAfterMs(
  values: string | readonly string[] | undefined,
  nowMs: number,
): number | undefined {
  if (values === undefined || typeof values === 'string')
    return values === undefined ? undefined : parseRetryAfterMs(values, nowMs);
  const waits = values.flatMap((value) => parseRetryAfterMs(value, nowMs) ?? []);
  return waits.length === 0 ? undefined : Math.max(...waits);
}
