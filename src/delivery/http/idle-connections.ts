import type { Socket } from 'node:net';
import { errors } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import { Deadlines } from './deadlines.ts';
import type { Timed } from './deadlines.ts';

/** The part of undici's parser that deals with time. */
export interface TimedParser {
  timeoutType: number | null;
  readonly timeoutValue: number | null;
  /** @param kind what the timeout is for: an answer's head, its body, or the next request */
  setTimeout(delayMs: number, kind: number): void;
}

/** How long a connection is kept at most, if it is one of few; an endpoint may ask for less. */
export const longestIdleMs = 300_000;
/** How long all others are kept: long enough for a steady stream of events. */
const usualIdleMs = 30_000;
/** Idle connections that are kept for long: all of a worker with this many endpoints. */
const maxLong = 1_000;
/** The same for one origin, so that one with bursts leaves room for the others. */
const maxLongOfOrigin = 4;
const secondMs = 1_000;
/** The times of those that are kept for long are multiples of this: each time has a timer, which wakes us. */
const longStepMs = 30_000;

/** undici's number for a connection that waits for its next request. */
const idleKind = 8;
const noKind = 0;

/**
 * Closes connections that are no longer used: a few of each origin after minutes, so that an endpoint with few
 * events doesn't pay for a handshake with each, and all others sooner. undici creates a Node timer for that
 * after each answer, and drops it with the next request. With thousands of connections, such timers survive
 * young collections, and copying them is a large part of the cost of a delivery. Here a deadline is a place
 * in a list.
 */
export class IdleConnections {
  readonly #clock: SteadyClock;
  /** A list for each time that connections are kept. */
  readonly #lists = new Map<number, Deadlines>();
  #long = 0;
  readonly #longByOrigin = new Map<string, number>();

  constructor(clock: SteadyClock) {
    this.#clock = clock;
  }

  /**
   * From now on, `parser` reports when the connection is idle. Its other timeouts have to be off.
   * @param oldMs when the connection is too old to be kept, by the steady clock
   */
  watch(socket: Socket, parser: TimedParser, origin: string, oldMs: number): void {
    const connection = new IdleConnection(socket, origin, oldMs);
    const { timeoutType, timeoutValue } = parser;
    parser.setTimeout(0, noKind);
    parser.setTimeout = (delayMs, kind): void => {
      parser.timeoutType = kind;
      this.#end(connection);
      if (kind === idleKind) this.#begin(connection, delayMs);
    };
    // The request that the connection was opened for may have been given up meanwhile.
    parser.setTimeout(timeoutValue ?? 0, timeoutType ?? noKind);
    socket.once('close', () => {
      this.#end(connection);
    });
  }

  close(): void {
    for (const list of this.#lists.values()) list.close();
  }

  /** @param askedMs what the endpoint allows, or the longest time */
  #begin(connection: IdleConnection, askedMs: number): void {
    const { origin, oldMs } = connection;
    const nowMs = this.#clock.steadyNow();
    const ofOrigin = this.#longByOrigin.get(origin) ?? 0;
    const isLong = askedMs > usualIdleMs && this.#long < maxLong && ofOrigin < maxLongOfOrigin;
    if (isLong) {
      this.#long += 1;
      this.#longByOrigin.set(origin, ofOrigin + 1);
    }
    const mostMs = isLong ? longestIdleMs : usualIdleMs;
    const keptMs = Math.min(askedMs, mostMs, oldMs - nowMs);
    connection.begin(this.#listFor(keptMs), isLong, nowMs);
  }

  #end(connection: IdleConnection): void {
    if (!connection.end()) return;
    const { origin } = connection;
    this.#long -= 1;
    const left = (this.#longByOrigin.get(origin) ?? 1) - 1;
    if (left === 0) this.#longByOrigin.delete(origin);
    else this.#longByOrigin.set(origin, left);
  }

  #listFor(keptMs: number): Deadlines {
    const stepMs = keptMs < 2 * longStepMs ? secondMs : longStepMs;
    const delayMs = Math.max(1, Math.floor(keptMs / stepMs)) * stepMs;
    const known = this.#lists.get(delayMs);
    if (known !== undefined) return known;
    const list = new Deadlines(this.#clock, delayMs);
    this.#lists.set(delayMs, list);
    return list;
  }
}

class IdleConnection implements Timed {
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  readonly origin: string;
  readonly oldMs: number;
  readonly #socket: Socket;
  #list: Deadlines | undefined = undefined;
  #isLong = false;

  constructor(socket: Socket, origin: string, oldMs: number) {
    this.#socket = socket;
    this.origin = origin;
    this.oldMs = oldMs;
  }

  begin(list: Deadlines, isLong: boolean, nowMs: number): void {
    this.#list = list;
    this.#isLong = isLong;
    list.add(this, nowMs);
  }

  /** @returns whether it was one of those that are kept for long */
  end(): boolean {
    this.#list?.remove(this);
    this.#list = undefined;
    const wasLong = this.#isLong;
    this.#isLong = false;
    return wasLong;
  }

  onDeadline(): void {
    this.#list = undefined;
    // An error that undici does not count as a failure of requests that may start meanwhile.
    this.#socket.destroy(new errors.InformationalError('idle'));
  }
}
