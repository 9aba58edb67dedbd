import type { AttemptLine } from './attempt-line.ts';

/**
 * The ways in which an event ends that an operator sent again. `waiting`: it has not ended. `unknown`: nothing is
 * known of it any more, because attempts are kept for a shorter time than dead letters.
 */
export const endsAgain = ['delivered', 'dead-letter', 'dropped', 'waiting', 'unknown'] as const;
export type EndAgain = (typeof endsAgain)[number];

/** A line of `attempts` of an event that was sent again. */
export interface AgainLine {
  /** The outcome of an attempt; the kind of another line. */
  readonly says: string;
  readonly redrivenAt: string;
}

/** The line, if it is of an event that was sent again. */
export function againLineOf(line: AttemptLine): AgainLine | undefined {
  if (line.kind === 'bundle-deferred' || line.redrivenAt === undefined) return undefined;
  return { says: line.kind === 'attempt' ? line.outcome : line.kind, redrivenAt: line.redrivenAt };
}

/**
 * An event that was delivered once is delivered, in whatever order its lines came; otherwise the last time that it was
 * sent counts.
 * @param lines of one event
 * @param before the time at which the letter's event had been sent again before it became this letter; empty: never
 */
export function endAgain(lines: readonly AgainLine[], before: string): EndAgain {
  const since = lines.filter(({ redrivenAt }) => redrivenAt > before);
  if (since.some(({ says }) => says === 'delivered')) return 'delivered';
  const lastAt = since.reduce(
    (last, { redrivenAt }) => (redrivenAt > last ? redrivenAt : last),
    '',
  );
  const last = since.filter(({ redrivenAt }) => redrivenAt === lastAt).map(({ says }) => says);
  if (last.includes('dead-letter')) return 'dead-letter';
  if (last.includes('dropped')) return 'dropped';
  return last.length > 0 ? 'waiting' : 'unknown';
}
