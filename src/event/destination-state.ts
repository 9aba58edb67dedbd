/**
 * The states that workers report of a destination, the worst first:
 * unreadable: its secrets cannot be decrypted here; failing: a URL has failed, or refused, everything
 * lately; held: it asked to be left alone (429, `Retry-After`); saturated: it gets more than it takes;
 * slow: it takes more than a second for an event; limited: its own rate limit makes events wait;
 * paused: an operator stopped it, and its events are kept.
 */
export const destinationStates = [
  'unreadable',
  'failing',
  'held',
  'saturated',
  'slow',
  'limited',
  'paused',
  'disabled',
  'ok',
] as const;

export type DestinationState = (typeof destinationStates)[number];

/** Events do not get through, and somebody should be told. */
export function isTrouble(state: DestinationState): boolean {
  return state === 'unreadable' || state === 'failing' || state === 'held';
}
