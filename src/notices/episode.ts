import { parseDuration } from '../duration.ts';
import { noticeStages, type Notice } from '../event/notice.ts';

/** A period in which a destination fails. Times are epoch milliseconds. */
export interface Episode {
  readonly sinceMs: number;
  /** Since when nothing has been delivered. */
  readonly undeliveredSinceMs: number;
  /** The time at which a worker last reported the failure. */
  readonly saidMs: number;
  /** Number of stages for which notices were sent. */
  readonly told: number;
  /** A notice about disabling the destination was sent, and it is still disabled. */
  readonly isDisabled: boolean;
  /** A notice was sent, so a notice about the end follows. */
  readonly isTold: boolean;
}

/** The present facts about a destination. */
export interface Seen {
  /** False: the destination was deleted, or has `enabled: false`. */
  readonly isWanted: boolean;
  /** Paused by an operator, or, with `failingSinceMs`, by a watcher. */
  readonly pause: { readonly failingSinceMs: number | undefined } | undefined;
  /** Set while a worker reports a failure. `isGone`: each of its URLs answers that it takes no more events (410). */
  readonly failing:
    { readonly sinceMs: number; readonly isItsOwn: boolean; readonly isGone: boolean } | undefined;
  /** The time at which an event was last delivered, by the workers' reports. */
  readonly deliveredMs: number | undefined;
  /** Undefined: never. */
  readonly disableAfterMs: number | undefined;
}

/** The next steps for the destination: a notice, a pause, or nothing. */
export interface Next {
  readonly episode: Episode | undefined;
  readonly due?:
    | { readonly kind: 'failing'; readonly after: string }
    | { readonly kind: 'disable'; readonly isGone: boolean }
    | { readonly kind: 'disabled' | 'well' };
}

const stagesMs = noticeStages.map((stage) => parseDuration(stage) ?? 0);
/** Reports of workers and answers of endpoints may differ by this time. */
const slackMs = 60_000;
/** Nothing is known about an endpoint to which nothing is sent. */
export const forgetMs: number = 86_400_000;

/**
 * Decides which notices are sent about a destination, and when it is disabled; no other code does. An episode
 * ends with a success of the endpoint, not because a worker that reported the failure is gone.
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
  // The operator who paused it needs no notice.
  if (failingSinceMs === undefined) return { episode: undefined };
  if (former?.isDisabled === true) return { episode: former };
  const begun = former ?? begin(failingSinceMs, nowMs);
  const episode = { ...begun, isDisabled: true, isTold: true };
  return { episode, due: { kind: 'disabled' } };
}

function nextOfFailing(
  former: Episode | undefined,
  { sinceMs, isItsOwn, isGone }: NonNullable<Seen['failing']>,
  { deliveredMs = -Infinity, disableAfterMs = Infinity }: Seen,
  nowMs: number,
): Next {
  const begun = former ?? begin(sinceMs, nowMs);
  const undeliveredSinceMs = Math.max(begun.undeliveredSinceMs, deliveredMs);
  const episode = { ...begun, undeliveredSinceMs, saidMs: nowMs };
  if (isItsOwn && (isGone || nowMs - undeliveredSinceMs >= disableAfterMs))
    return { episode, due: { kind: 'disable', isGone } };
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

/** The whole time starts again. Receivers of the notice about disabling get one about the recovery. */
function resumed(nowMs: number): Episode {
  return { ...begin(nowMs, nowMs), isTold: true };
}

/** The state that another watcher had, as far as its last notice shows it. */
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
