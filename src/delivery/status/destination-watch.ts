import { isTrouble, type DestinationState } from '../../event/destination-status.ts';
import { settledMs } from '../../event/destination-health.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Endpoint } from '../lane/endpoint.ts';
import type { Lane } from '../lane/lane.ts';
import type { Spells } from './objective.ts';
import { standingOf } from './standing.ts';
import type { DestinationFacts, Standing, StateChange, SwitchedOff } from './standing.ts';

export interface DestinationWatchOptions {
  readonly clock: Clock;
  readonly onChange: (change: StateChange) => void;
  /** Learns when a destination holds its own events up. */
  readonly spells: Pick<Spells, 'seen' | 'tick'>;
  /** Events of the destination that wait in retry topics. */
  readonly waitingLater: (destinationId: string) => number;
  readonly isUnreadable: (destinationId: string) => boolean;
}

/** Each destination has at most one line for getting worse and one for recovering in this time. */
const againMs = 60_000;
/** The start of a recovery is kept for so long. */
const newsMs = 10 * againMs;
/** Lines for all destinations together in one tick. The rest follows in the next ticks. */
const mostLines = 50;

interface Watched {
  standing: Standing;
  /** The state that was last logged, and since when it has held. */
  said: DestinationState;
  saidSinceMs: number;
  troubleSaidMs: number;
  calmSaidMs: number;
  waiting: number;
  mostWaiting: number;
  facts: DestinationFacts;
  endpoints: readonly Endpoint[];
}

const unconfigured = { urls: [], hold: undefined, isSaturated: false, isSlow: false } as const;

/** Keeps the state of each destination that is not simply well, and reports changes. */
export class DestinationWatch {
  readonly #options: DestinationWatchOptions;
  readonly #watched = new Map<string, Watched>();
  #lines = 0;

  constructor(options: DestinationWatchOptions) {
    this.#options = options;
  }

  /** @returns undefined if the destination is well, as far as is known */
  standing(destinationId: string): Standing | undefined {
    return this.#watched.get(destinationId)?.standing;
  }

  /** The states of destinations that are not well, or were not just now. */
  *standings(): Generator<readonly [string, Standing], void, undefined> {
    for (const [id, { standing }] of this.#watched) yield [id, standing];
  }

  /** Nothing has followed its first failures for a second, and they are too few to call it failing. */
  isInDoubt(destinationId: string): boolean {
    const watched = this.#watched.get(destinationId);
    const sinceMs = watched?.facts.urls.map(({ failingSinceMs = Infinity }) => failingSinceMs);
    return this.#options.clock.now() - Math.min(...(sinceMs ?? [])) >= settledMs;
  }

  /** Must be called about once a second, before `look` is called for each lane. */
  tick(): void {
    this.#lines = 0;
    const { clock, spells, isUnreadable, waitingLater } = this.#options;
    const nowMs = clock.now();
    spells.tick(nowMs);
    for (const [id, watched] of this.#watched) {
      const { configured } = watched.facts;
      if (configured === 'unreadable' && !isUnreadable(id)) this.#configured(id, 'enabled');
      else if (isSwitchedOff(configured) && waitingLater(id) === 0) this.#watched.delete(id);
      else if (configured !== 'enabled') this.#say(id, watched, nowMs);
      // Without a lane nobody else looks.
      else if (watched.endpoints.length === 0) this.#configured(id, configured);
    }
  }

  /** Must be called for each lane, about once a second. */
  look(id: string, lane: Lane): void {
    const nowMs = this.#options.clock.now();
    const watched = this.#watched.get(id);
    if (watched === undefined && isPlain(lane)) return;
    const facts = factsOf(lane);
    const { looks, state, sinceMs } = this.#judge(id, facts, lane.endpoints.all, lane.waiting.size);
    if (holdsUp(looks, facts, lane))
      this.#options.spells.seen(id, isTrouble(state) ? sinceMs : nowMs, nowMs);
  }

  /** An event cannot be sent because the destination's secrets cannot be decrypted. */
  unreadable(id: string): void {
    if (this.#watched.get(id)?.facts.configured !== 'unreadable')
      this.#configured(id, 'unreadable');
  }

  switchedOff(id: string, how: SwitchedOff): void {
    if (this.#watched.get(id)?.facts.configured !== how) this.#configured(id, how);
  }

  /** Events are sent to the destination again, whether or not one comes soon. */
  switchedOn(id: string): void {
    const configured = this.#watched.get(id)?.facts.configured;
    if (configured !== undefined && isSwitchedOff(configured)) this.#configured(id, 'enabled');
  }

  /** The destination was deleted, or had no event for long. */
  forget(id: string): void {
    this.#watched.delete(id);
  }

  #configured(id: string, configured: DestinationFacts['configured']): void {
    this.#judge(id, { ...unconfigured, isLimited: false, configured }, [], 0);
  }

  #judge(
    id: string,
    facts: DestinationFacts,
    endpoints: readonly Endpoint[],
    waitingHere: number,
  ): Standing {
    const nowMs = this.#options.clock.now();
    const former = this.#watched.get(id);
    const standing = standingOf(former?.standing, facts, nowMs);
    const watched = former ?? newlyWatched(standing, facts, nowMs);
    if (former === undefined) this.#watched.set(id, watched);
    watched.standing = standing;
    watched.facts = facts;
    watched.endpoints = endpoints;
    watched.waiting = waitingHere + this.#options.waitingLater(id);
    watched.mostWaiting = Math.max(watched.mostWaiting, watched.waiting);
    this.#say(id, watched, nowMs);
    const isCalm = standing.looks === 'ok' && !facts.urls.some(isInQuestion);
    const isWell = standing.state === 'ok' && isCalm && watched.said === 'ok';
    const lastSaidMs = Math.max(watched.troubleSaidMs, watched.calmSaidMs);
    if (isWell && nowMs - lastSaidMs >= newsMs) this.#watched.delete(id);
    return standing;
  }

  #say(id: string, watched: Watched, nowMs: number): void {
    const { standing, said, facts } = watched;
    const { state, sinceMs } = standing;
    if (state === said || this.#lines >= mostLines) return;
    const isBad = isTrouble(state);
    const lastMs = isBad ? watched.troubleSaidMs : watched.calmSaidMs;
    if (nowMs - lastMs < againMs) return;
    this.#lines += 1;
    if (isBad) watched.troubleSaidMs = nowMs;
    else watched.calmSaidMs = nowMs;
    const index = Math.max(0, facts.urls.findIndex(isInQuestion));
    const url = facts.urls[index];
    const waiting = state === 'ok' ? watched.mostWaiting : watched.waiting;
    const afterMs = sinceMs - watched.saidSinceMs;
    watched.said = state;
    watched.saidSinceMs = sinceMs;
    if (state === 'ok') watched.mostWaiting = 0;
    this.#options.onChange({
      destination: id,
      state,
      was: said,
      sinceMs,
      afterMs,
      waiting,
      url: watched.endpoints[index]?.prepared.publicUrl,
      last: url?.last,
      untilMs: url?.probeAtMs ?? facts.hold?.untilMs,
    });
  }
}

function isSwitchedOff(configured: DestinationFacts['configured']): boolean {
  return configured === 'disabled' || configured === 'paused';
}

/** The destination's events wait for the destination itself. */
function holdsUp(
  looks: DestinationState,
  { urls, isLimited }: DestinationFacts,
  { isSlowRefused }: Pick<Lane, 'isSlowRefused'>,
): boolean {
  if (looks === 'ok') return false;
  if (looks === 'slow') return isSlowRefused || isLimited;
  // Where one of several URLs is well, events do not wait for the others.
  return looks !== 'failing' || urls.every(isInQuestion);
}

function isInQuestion({ breaker, failuresInRow }: DestinationFacts['urls'][number]): boolean {
  return breaker !== 'closed' || failuresInRow > 0;
}

function newlyWatched(standing: Standing, facts: DestinationFacts, nowMs: number): Watched {
  return {
    standing,
    facts,
    said: 'ok',
    saidSinceMs: nowMs,
    troubleSaidMs: -Infinity,
    calmSaidMs: -Infinity,
    waiting: 0,
    mostWaiting: 0,
    endpoints: [],
  };
}

/** The lane has no special state. This is checked for thousands of lanes each second. */
export function isPlain({ endpoints, isSlow, waiting, hold }: Lane): boolean {
  if (isSlow || waiting.size > 0 || hold.row !== undefined || endpoints.troubled) return false;
  if (endpoints.isSomeTokenAway) return false;
  for (const { answers } of endpoints.all) if (answers.failuresInRow > 0) return false;
  return true;
}

function factsOf(lane: Lane): DestinationFacts {
  const { endpoints, hold, wasSaturated, isSlow, rate, waiting } = lane;
  return {
    configured: 'enabled',
    urls: endpoints.all.map(({ told }) => told),
    hold: hold.row,
    isSaturated: wasSaturated,
    isSlow,
    isLimited: rate.isLimited && !rate.isElsewhere && waiting.size > 0,
  };
}
