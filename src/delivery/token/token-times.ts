/** The times of one token, by the steady clock. */
export interface TokenTimes {
  /** From then on, the next use has another one fetched, and goes on with this one meanwhile. */
  readonly renewMs: number;
  /** From then on it is not used: it would end on its way. */
  readonly endMs: number;
}

/** The life of a token of which its authorization server says none, as RFC 6749 (5.1) allows. */
const usualLifeS = 300;
/** A timer counts at most 24 days, and a server may say anything. */
const longestLifeS = 86_400;
/** The rest of the time in which a token is used is left for the tries to get another one. */
const renewedPart = 0.8;
/** A request takes at most five seconds, and clocks differ. */
const onItsWayMs = 10_000;
/** The part of a short life. Servers that count in whole seconds take up to one of them away. */
const onItsWayPart = 0.1;
const leastOnItsWayMs = 1_000;
const mostOnItsWayPart = 0.5;

/**
 * @param fromMs when it was asked for: it lives from some time after that
 * @param lifeS the server's `expires_in`
 */
export function timesOf(fromMs: number, lifeS: number = usualLifeS): TokenTimes {
  const lifeMs = Math.min(lifeS, longestLifeS) * 1_000;
  const wantedMs = Math.max(leastOnItsWayMs, Math.min(onItsWayMs, onItsWayPart * lifeMs));
  const usedMs = lifeMs - Math.min(wantedMs, mostOnItsWayPart * lifeMs);
  return { renewMs: fromMs + renewedPart * usedMs, endMs: fromMs + usedMs };
}

/** An endpoint that refuses a token so soon after it was fetched refuses all of them. */
const justFetchedMs = 30_000;

/** A token that an endpoint refuses may have been revoked, so another one may help. */
export function mayBeRevoked(fetchedMs: number, nowMs: number): boolean {
  return nowMs - fetchedMs >= justFetchedMs;
}

/** The tries to get a token since the last one that succeeded, by the steady clock. */
export interface FailedTries {
  /** The beginning of the first one. */
  readonly fromMs: number;
  /** The end of the last one. */
  readonly failedMs: number;
}

/** Events wait in their lane for a token that comes within this time. */
const patienceMs = 3_000;

/** No token can be had for the moment, so events that need one are put off. */
export function isAway({ fromMs, failedMs }: FailedTries): boolean {
  return failedMs - fromMs >= patienceMs;
}

const shortestPauseMs = 1_000;
const longestPauseMs = 60_000;
/** The outage may last longer by this part of it until it is seen to be over. */
const pausePart = 0.1;
/** So that many clients of one server do not try at the same time. */
const jitter = 0.2;

/** The time from the end of a failed try to the next one. */
export function pauseMs({ fromMs, failedMs }: FailedTries, random: () => number): number {
  const growingMs = Math.max(shortestPauseMs, pausePart * (failedMs - fromMs));
  return Math.min(growingMs, longestPauseMs) * (1 - jitter * random());
}
