import { parseDuration } from '../duration.ts';
import { noticeStages, type Notice } from '../event/notice.ts';

/** A time in which a destination fails. Times are epoch milliseconds. */
export interface Episode {
  readonly sinceMs: number;
  /** Since when nothing has been delivered. */
  readonly undeliveredSinceMs: number;
  /** When a worker said last that it fails. */
  readonly saidMs: number;
  /** How many of the stages were told. */
  readonly told: number;
  /** It was told that the destination was disabled, and it still is. */
  readonly isDisabled: boolean;
  /** Somebody was told anything of it, so its end is told too. */
  readonly isTold: boolean;
}

/** What is known of a destination now. */
export interface Seen {
  /** False: it was deleted, or `enabled: false`. */
  readonly isWanted: boolean;
  /** Paused, by an operator or, with `failingSinceMs`, by `disableAfter`. */
  readonly pause: { readonly failingSinceMs: number | undefined } | undefined;
  /** A worker says that it fails. */
  readonly failing: { readonly sinceMs: number; readonly isItsOwn: boolean } | undefined;
  /** When an event was last delivered, as far as workers say. */
  readonly deliveredMs: number | undefined;
  /** Undefined: never. */
  readonly disableAfterMs: number | undefined;
}

/** What follows for the destination: a notice, a pause, or nothing. */
export interface Next {
  readonly episode: Episode | undefined;
  readonly due?:
    | { readonly kind: 'failing'; readonly after: string }
    | { readonly kind: 'disable' | 'disabled' | 'well' };
}

const stagesMs = noticeStages.map((stage) => parseDuration(stage) ?? 0);
/** What workers say and what endpoints answered is a little apart. */
const slackMs = 60_000;
/** Of an endpoint to which nothing is sent nobody knows how it is. */
const forgetMs = 86_400_000;

/**
 * The only place that decides what is told of a destination, and when it is disabled. An episode ends with
 * an answer that says so, not because a worker that spoke of it is gone.
 */
export function nextOf(former: Episode | undefined, seen: Seen, nowMs: number): Next {
  const { isWanted, pause, failing, deliveredMs } = seen;
  if (!isWanted) return { episode: undefined };
  if (pause !== undefined) return nextOfPaused(former, pause, nowMs);
  const episode = former?.isDisabled === true ? resumed(nowMs) : former;
  if (failing !== undefined) return nextOfFailing(episode, failing, seen, nowMs);
  if (episode === undefined) return { episode };
  if (deliveredMs !== undefined && deliveredMs > episode.saidMs - slackMs)
    return { episode: undefined, ...(episode.isTold ? { due: { kind: 'well' } } : {}) };
  return { episode: nowMs - episode.saidMs < forgetMs ? episode : undefined };
}

function nextOfPaused(
  former: Episode | undefined,
  { failingSinceMs }: NonNullable<Seen['pause']>,
  nowMs: number,
): Next {
  // Who pauses it knows.
  if (failingSinceMs === undefined) return { episode: undefined };
  if (former?.isDisabled === true) return { episode: former };
  const begun = former ?? begin(failingSinceMs, nowMs);
  const episode = { ...begun, isDisabled: true, isTold: true };
  return { episode, due: { kind: 'disabled' } };
}

function nextOfFailing(
  former: Episode | undefined,
  { sinceMs, isItsOwn }: NonNullable<Seen['failing']>,
  { deliveredMs = -Infinity, disableAfterMs = Infinity }: Seen,
  nowMs: number,
): Next {
  const begun = former ?? begin(sinceMs, nowMs);
  const undeliveredSinceMs = Math.max(begun.undeliveredSinceMs, deliveredMs);
  const episode = { ...begun, undeliveredSinceMs, saidMs: nowMs };
  if (isItsOwn && nowMs - undeliveredSinceMs >= disableAfterMs)
    return { episode, due: { kind: 'disable' } };
  const reached = stagesMs.filter((stageMs) => nowMs - episode.sinceMs >= stageMs).length;
  const after = noticeStages[reached - 1];
  if (reached <= episode.told || after === undefined) return { episode };
  return { episode: { ...episode, told: reached, isTold: true }, due: { kind: 'failing', after } };
}

function begin(sinceMs: number, nowMs: number): Episode {
  return {
    sinceMs,
    undeliveredSinceMs: sinceMs,
    saidMs: nowMs,
    told: 0,
    isDisabled: false,
    isTold: false,
  };
}

/** It has all its time again, and whoever heard that it was disabled hears that it is well. */
function resumed(nowMs: number): Episode {
  return { ...begin(nowMs, nowMs), isTold: true };
}

/** What another watcher knew: as much of it as its last notice says. */
export function episodeOf(notice: Notice, nowMs: number): Episode | undefined {
  if (notice.notice === 'well') return undefined;
  const sinceMs = Date.parse(notice.since);
  const stage = noticeStages.findIndex((each) => each === notice.after);
  return {
    sinceMs,
    undeliveredSinceMs: Date.parse(notice.undeliveredSince) || sinceMs,
    saidMs: nowMs,
    told: stage + 1,
    isDisabled: notice.notice === 'disabled',
    isTold: true,
  };
}
