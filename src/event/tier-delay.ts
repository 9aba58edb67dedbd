/** Due times vary by this share in both directions, so that records written together come back spread out. */
export const dueTimeJitter = 0.1;

/** The time at which a record is due that is written to a retry topic now; epoch milliseconds. */
export function dueAfter(tierMs: number, nowMs: number, random: () => number): number {
  return Math.round(nowMs + tierMs * (1 - dueTimeJitter + 2 * dueTimeJitter * random()));
}

/** The latest due time of a record that was written to the retry topic at that time; epoch milliseconds. */
export function latestDueMs(tierMs: number, writtenMs: number): number {
  return Math.round(writtenMs + tierMs * (1 + dueTimeJitter));
}

/** Time between a due time and the deadline, for reading the record and waiting in a lane. */
const lastAttemptMarginMs = 1_000;

/** The time that must be left for a record to be tried again after a tier. */
export function longestDelayMs(tierMs: number): number {
  return latestDueMs(tierMs, 0) + lastAttemptMarginMs;
}
