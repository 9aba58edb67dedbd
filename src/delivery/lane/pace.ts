import type { Outcome } from '../outcome.ts';
import { fullWaitMs } from './deferral.ts';

/** A lane is slow after so many attempts in a row without a success. */
const failuresInRow = 5;
const slowMs = 1_000;
/** Weight of the newest attempt, and of the newest interval. */
const smoothing = { attempt: 0.2, interval: 0.5 };

/** The slots of a lane, as far as the time until a turn depends on them. */
interface SlotState {
  readonly areLeft: boolean;
  readonly inFlight: number;
}

/**
 * Measures how long a lane takes: for an attempt, and until an event has its turn.
 *
 * A lane that takes long for each attempt is slow. The slots of all slow lanes come out of a quarter that they share.
 * Attempts that have not ended count with their age, because those of a hanging endpoint end late.
 *
 * The speed at which events are worked off is measured by how many have ended in the last few intervals.
 */
export class Pace {
  #inFlight = 0;
  /** The time since which attempts have been in flight of which none has ended. */
  #silentSinceMs = 0;
  /** The sum of the times when the attempts in flight were started. */
  #startsMs = 0;
  #failuresInRow = 0;
  #failingSinceMs: number | undefined;
  /** Recent average time of an attempt. */
  #averageMs = 0;
  /** Events whose attempts have ended in this interval, and in the one before. */
  #ended = 0;
  #endedBefore = 0;
  #ranDry = false;
  #perSecond: number | undefined;
  #intervalSinceMs: number;

  /** @param nowMs by the steady clock, like all times in here */
  constructor(nowMs: number) {
    this.#intervalSinceMs = nowMs;
  }

  started(nowMs: number): void {
    if (this.#inFlight === 0) this.#silentSinceMs = nowMs;
    this.#inFlight += 1;
    this.#startsMs += nowMs;
  }

  /** @param events that the attempt has dealt with: many in a batch */
  ended(startedMs: number, nowMs: number, result: Outcome['kind'], events: number): void {
    this.#ended += events;
    this.#inFlight -= 1;
    this.#silentSinceMs = nowMs;
    this.#startsMs -= startedMs;
    this.#failuresInRow = result === 'delivered' ? 0 : this.#failuresInRow + 1;
    if (result === 'retryable') this.#failingSinceMs ??= startedMs;
    else this.#failingSinceMs = undefined;
    const tookMs = nowMs - startedMs;
    this.#averageMs += smoothing.attempt * (tookMs - this.#averageMs);
  }

  /** The request did not count as an attempt. */
  cancelled(startedMs: number): void {
    this.#inFlight -= 1;
    this.#startsMs -= startedMs;
  }

  /** Nothing waited, so what ends in this interval shows how much came, not how much could be done. */
  ranDry(): void {
    this.#ranDry = true;
  }

  /** The lane had nothing waiting at some time in this interval. */
  get hasRunDry(): boolean {
    return this.#ranDry;
  }

  /** Something ended in this interval or the one before. */
  get isActive(): boolean {
    return this.#ended + this.#endedBefore > 0;
  }

  /** Closes an interval. Only an interval in which something waited all the time shows the speed. */
  tick(nowMs: number): void {
    const seconds = (nowMs - this.#intervalSinceMs) / 1_000;
    this.#intervalSinceMs = nowMs;
    const perSecond = seconds > 0 ? this.#ended / seconds : 0;
    this.#endedBefore = this.#ended;
    this.#ended = 0;
    if (this.#ranDry) this.#perSecond = undefined;
    else if (this.#perSecond === undefined) this.#perSecond = perSecond;
    else this.#perSecond += smoothing.interval * (perSecond - this.#perSecond);
    this.#ranDry = false;
  }

  isSlow(nowMs: number): boolean {
    return (
      this.#failuresInRow >= failuresInRow ||
      this.#averageMs > slowMs ||
      nowMs * this.#inFlight - this.#startsMs > slowMs * this.#inFlight
    );
  }

  /** Time since the first of the current row of retryable failures began; 0 without one. */
  failingForMs(nowMs: number): number {
    return this.#failingSinceMs === undefined ? 0 : nowMs - this.#failingSinceMs;
  }

  /** Time until `records` are worked off; 0 while the speed is not known, and if nothing ends at all. */
  drainMs(records: number): number {
    const perSecond = this.#perSecond ?? 0;
    return perSecond === 0 ? 0 : (records / perSecond) * 1_000;
  }

  /**
   * Time until the turn of an event that comes now. Each of its user's earlier events waits for a slot, too.
   *
   * When an endpoint begins to hang, nothing else tells of it until its first attempts time out. Attempts that have
   * been silent for twice as long as one usually takes are likely to be for as long again.
   * @param queued events that wait for a slot
   */
  turnMs(aheadOfUser: number, queued: number, slots: SlotState, nowMs: number): number {
    const likelyMs = 2 * this.#silentMs(nowMs);
    const silentSlotMs = slots.areLeft ? 0 : (queued / slots.inFlight) * likelyMs;
    const slotMs = Math.max(this.drainMs(queued), silentSlotMs);
    return (aheadOfUser + 1) * slotMs + aheadOfUser * Math.max(this.#averageMs, likelyMs);
  }

  /** The time for which no attempt in flight has ended, if that is twice as long as one usually takes; else 0. */
  #silentMs(nowMs: number): number {
    if (this.#inFlight === 0) return 0;
    const silentMs = nowMs - this.#silentSinceMs;
    return silentMs > 2 * this.#averageMs ? silentMs : 0;
  }
}

/**
 * The usual turn if only one lane is active. Nobody knows then whether other events wait behind its own, so only a lane
 * with turns of more than half a minute counts as being in their way.
 */
const usualTurnWhenAloneMs = 4_000;

/** A lane that has work. */
interface Active {
  /** Its events are sent as far as there are slots, not put off. */
  readonly isServed: boolean;
  readonly longestTurnMs: number;
}

/** The slots and lanes of a worker that nobody uses. */
export interface Idle {
  readonly areSlots: boolean;
  /** Some lane has nothing to do. What comes for it is sent at once if there are slots. */
  readonly isSomeLane: boolean;
}

/** Times until a turn in lanes that are not behind, with which a lane is compared. */
export interface UsualTurns {
  readonly freshMs: number;
  /**
   * The usual turn of events that have come back. A lane that puts these off puts off the same ones again and again, so
   * that retry topics fill with records that are not due.
   */
  readonly returnedMs: number;
}

/** No lane is the odd one out. */
export const notCompared: UsualTurns = { freshMs: Infinity, returnedMs: Infinity };

/**
 * The usual time until a turn: that of the quarter of served lanes that are least behind. If all lanes are
 * equally behind, the worker is the bottleneck and the backlog belongs in Kafka. A lane that puts its events
 * off, such as that of a dead endpoint, is never behind, and shows nothing. A lane that is the only one may
 * keep all others from being read.
 *
 * A worker with idle slots is no bottleneck: lanes that are behind are so by themselves, however many they are. Then
 * the lane that is least behind counts, also one that has nothing to do, because its events may wait behind theirs.
 */
export function usualTurns(active: readonly Active[], idle: Idle): UsualTurns {
  const turnsMs = active
    .filter(({ isServed }) => isServed)
    .map((lane) => lane.longestTurnMs)
    .sort((a, b) => a - b);
  if (turnsMs.length < 2)
    return { freshMs: usualTurnWhenAloneMs, returnedMs: usualTurnWhenAloneMs };
  const returnedMs = turnsMs[Math.floor(turnsMs.length / 4)] ?? 0;
  if (!idle.areSlots) return { freshMs: returnedMs, returnedMs };
  return { freshMs: idle.isSomeLane ? 0 : (turnsMs[0] ?? 0), returnedMs };
}

/** A turn must take so many times as long in this lane as in most other lanes. */
const timesAsLong = 8;
/** A turn must take long for so many ticks: a lane is behind for a moment whenever a fetch brings many records for it. */
const fewestTicks = 2;

/**
 * Notices that one lane is behind while others are not. Then its own events, and not a lack of time or slots in
 * this worker, keep the events of other lanes from being read.
 */
export class OddOneOut {
  #ticks = 0;

  get isOne(): boolean {
    return this.#ticks >= fewestTicks;
  }

  /**
   * Must be called about once a second.
   * @param usualTurnMs until a turn in lanes that are not behind
   */
  tick(longestTurnMs: number, usualTurnMs: number): void {
    const mostMs = Math.max(fullWaitMs, timesAsLong * usualTurnMs);
    // The lane counts as odd until it is well below the limit, or the state would flicker.
    this.#ticks = longestTurnMs > (this.isOne ? mostMs / 2 : mostMs) ? this.#ticks + 1 : 0;
  }
}
