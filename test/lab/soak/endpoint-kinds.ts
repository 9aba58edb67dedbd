import type { BatchRules } from '../../../src/resources/resource.ts';

/** A customer's endpoint, and what is particular about it. */
export interface EndpointKind {
  readonly id: string;
  readonly scheme?: 'https';
  /** It is known by a name, not by its address. */
  readonly isNamed?: true;
  readonly topic?: 'dedicated';
  readonly order?: 'user';
  readonly batch?: BatchRules;
  readonly compress?: 'gzip';
  readonly answerMs?: number;
  /** One in so many events is refused for good. */
  readonly refusesEvery?: number;
  /** One in so many events fails at its first attempt. */
  readonly failsEvery?: number;
  /** Every other failure is an answer that never comes. */
  readonly isSilentAtTimes?: true;
  /** It answers for each event of a request. Without it, one event that is refused or fails is the answer for all. */
  readonly tellsApart?: true;
}

/** At the soak's load, a worker fills no batch: each has what has come within `wait`. */
const batch: BatchRules = { events: 50, wait: '1s', bytes: '256KB' };

export const endpointKinds: readonly EndpointKind[] = [
  { id: 'quick' },
  { id: 'secure', scheme: 'https', topic: 'dedicated' },
  { id: 'slow', answerMs: 300 },
  { id: 'named', isNamed: true },
  { id: 'flaky', scheme: 'https', failsEvery: 10 },
  { id: 'refusing', refusesEvery: 20 },
  { id: 'batched', batch, refusesEvery: 1_000 },
  { id: 'compressed', batch, compress: 'gzip', scheme: 'https' },
  { id: 'exact', batch, tellsApart: true, refusesEvery: 20, failsEvery: 10 },
  {
    id: 'ordered',
    batch,
    order: 'user',
    topic: 'dedicated',
    failsEvery: 50,
    isSilentAtTimes: true,
  },
];
export const endpointIds: readonly string[] = endpointKinds.map(({ id }) => id);
/** The endpoints that answer for every event at its first attempt, unless a fault is their own. */
export const healthyIds: readonly string[] = endpointKinds
  .filter(({ failsEvery }) => failsEvery === undefined)
  .map(({ id }) => id);
/** The endpoints that are promised each user's events in order. */
export const orderedIds: readonly string[] = endpointKinds
  .filter(({ order }) => order === 'user')
  .map(({ id }) => id);

/** The status for an event that is refused for good. */
export const refusal = 422;

/** @param key the message id, or what `audienceKey` makes */
export function isRefused(destinationId: string, key: string): boolean {
  const kind = endpointKinds.find(({ id }) => id === destinationId);
  return isOneIn(kind?.refusesEvery, key);
}

/** By the number at the end of the key, so that a repetition is treated as the first one was. */
export function isOneIn(every: number | undefined, key: string): boolean {
  if (every === undefined) return false;
  // In the middle, so that also a short phase with some hundred calls has one in a thousand.
  return Number(/\d+$/.exec(key)?.[0] ?? 0) % every === every / 2;
}
