import type { Socket } from 'node:net';
import { errors } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import { DeadlinesByLength } from './deadlines.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import type { ParsedConnection } from './undici-parser.ts';

/** Short enough to notice that a name has moved, and so long that new connections cost almost nothing. */
const greatestAgeMs = 300_000;
/**
 * Each connection has its own greatest age, shorter or longer by up to this share, so that the connections of
 * one burst do not end together.
 */
const ageSpread = 0.1;
/** The longest time that a connection is kept, if it is one of few; an endpoint may ask for less. */
export const longestIdleMs = 300_000;
/** The time that all others are kept: long enough for a steady stream of events. */
const usualIdleMs = 30_000;
/** Idle connections that are kept for long: all of a worker with this many endpoints. */
const maxLong = 1_000;
/** The same for one origin, so that one with bursts leaves room for the others. */
const maxLongOfOrigin = 4;
const secondMs = 1_000;
/** The times of those that are kept for long are multiples of this: each time has a timer, which wakes us. */
const longStepMs = 30_000;

/**
 * Closes connections that are no longer used: a few of each origin after minutes, so that an endpoint with few
 * events doesn't pay for a handshake with each, and all others sooner. undici creates a Node timer for that
 * after each answer, and drops it with the next request. With thousands of connections, such timers survive
 * young collections, and copying them is a large part of the cost of a delivery. Here a deadline is a place
 * in a list.
 */
export class IdleConnections {
  readonly clock: SteadyClock;
  /** By the time that connections are kept. */
  readonly #lists: DeadlinesByLength;
  #long = 0;
  readonly #longByOrigin = new Map<string, number>();

  constructor(clock: SteadyClock) {
    this.clock = clock;
    this.#lists = new DeadlinesByLength(clock);
  }

  close(): void {
    this.#lists.close();
  }

  /** @returns whether the connection is one of the few that are kept for minutes */
  takeLong(origin: string, askedMs: number): boolean {
    const ofOrigin = this.#longByOrigin.get(origin) ?? 0;
    if (askedMs <= usualIdleMs || this.#long >= maxLong || ofOrigin >= maxLongOfOrigin)
      return false;
    this.#long += 1;
    this.#longByOrigin.set(origin, ofOrigin + 1);
    return true;
  }

  giveLongBack(origin: string): void {
    this.#long -= 1;
    const left = (this.#longByOrigin.get(origin) ?? 1) - 1;
    if (left === 0) this.#longByOrigin.delete(origin);
    else this.#longByOrigin.set(origin, left);
  }

  listFor(keptMs: number): Deadlines {
    const stepMs = keptMs < 2 * longStepMs ? secondMs : longStepMs;
    return this.#lists.of(Math.max(1, Math.floor(keptMs / stepMs)) * stepMs);
  }
}

/** A connection that undici uses, with a greatest age. */
export class KeptConnection implements ParsedConnection, Timed {
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  readonly #idle: IdleConnections;
  readonly #socket: Socket;
  readonly #origin: string;
  /** The time, by the steady clock, from which the connection is too old to be used again. */
  readonly #oldMs: number;
  #list: Deadlines | undefined = undefined;
  #isLong = false;

  constructor(idle: IdleConnections, socket: Socket, origin: string) {
    this.#idle = idle;
    this.#socket = socket;
    this.#origin = origin;
    const spread = 1 + ageSpread * (2 * Math.random() - 1);
    this.#oldMs = idle.clock.steadyNow() + greatestAgeMs * spread;
  }

  isOld(): boolean {
    return this.#idle.clock.steadyNow() >= this.#oldMs;
  }

  becameIdle(askedMs: number): void {
    const nowMs = this.#idle.clock.steadyNow();
    this.#isLong = this.#idle.takeLong(this.#origin, askedMs);
    const mostMs = this.#isLong ? longestIdleMs : usualIdleMs;
    this.#list = this.#idle.listFor(Math.min(askedMs, mostMs, this.#oldMs - nowMs));
    this.#list.add(this, nowMs);
  }

  becameBusy(): void {
    this.#list?.remove(this);
    this.#list = undefined;
    if (this.#isLong) this.#idle.giveLongBack(this.#origin);
    this.#isLong = false;
  }

  onDeadline(): void {
    this.#list = undefined;
    // An error that undici does not count as a failure of requests that may start meanwhile.
    this.#socket.destroy(new errors.InformationalError('idle'));
  }
}
