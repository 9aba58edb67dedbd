/** Due times differ by this share in both directions, so that records written together come back spread. */
export const dueTimeJitter = 0.1;

/** When a record that is written to a retry topic now is due; epoch milliseconds. */
export function dueAfter(tierMs: number, nowMs: number, random: () => number): number {
  return Math.round(nowMs + tierMs * (1 - dueTimeJitter + 2 * dueTimeJitter * random()));
}
