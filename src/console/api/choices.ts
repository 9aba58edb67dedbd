/** The values that requests may choose from, and answers name. The pages import them too, so no library is in here. */

/** The orders of the list of destinations, each with the most first. */
export const orders = ['urgency', 'dead-letters', 'waiting', 'p99'] as const;
export type Order = (typeof orders)[number];

/** The ranges of a destination's series. */
export const ranges = ['1h', '24h', '3d'] as const;
export type Range = (typeof ranges)[number];

/** The outcomes of an event, from the best to the worst. */
export const outcomes = ['delivered', 'dropped', 'kept', 'waiting', 'dead-letter'] as const;
export type EventOutcome = (typeof outcomes)[number];

/** The stages of the flow, left to right; `dead-letter` and `rejected` are ways out. */
export const stages = [
  'ingest',
  'router',
  'delivery',
  'retry',
  'delivered',
  'dead-letter',
  'rejected',
] as const;
export type Stage = (typeof stages)[number];
