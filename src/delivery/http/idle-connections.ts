import type { Socket } from 'node:net';
import { errors } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import { Deadlines } from './deadlines.ts';
import type { Timed } from './deadlines.ts';

/** Of undici's parser, what has to do with time. */
export interface TimedParser {
  timeoutType: number | null;
  readonly timeoutValue: number | null;
  /** @param kind for what: an answer's head, its body, or the next request */
  setTimeout(delayMs: number, kind: number): void;
}

/** undici's number for a connection that waits for its next request. */
const idleKind = 8;
const noKind = 0;

/**
 * Closes connections that are not used any more. undici makes a timer of Node's for it after each answer and
 * throws it away with the next request. With thousands of connections such a timer outlives the young
 * collections, and to copy it was a quarter of what a delivery cost. Here it is a place in a list.
 */
export class IdleConnections {
  readonly #clock: SteadyClock;
  /** By how long a connection is kept: ours, and what endpoints ask for, in whole seconds up to a minute. */
  readonly #lists = new Map<number, Deadlines>();

  constructor(clock: SteadyClock) {
    this.#clock = clock;
  }

  /** From now on, `parser` tells when the connection is idle; its other timeouts have to be off. */
  watch(socket: Socket, parser: TimedParser): void {
    const connection = new IdleConnection(socket);
    const { timeoutType, timeoutValue } = parser;
    parser.setTimeout(0, noKind);
    parser.setTimeout = (delayMs, kind): void => {
      parser.timeoutType = kind;
      if (kind === idleKind) connection.begin(this.#listFor(delayMs), this.#clock.steadyNow());
      else connection.end();
    };
    // The request that it was made for may have been given up meanwhile.
    parser.setTimeout(timeoutValue ?? 0, timeoutType ?? noKind);
    socket.once('close', () => {
      connection.end();
    });
  }

  close(): void {
    for (const list of this.#lists.values()) list.close();
  }

  #listFor(delayMs: number): Deadlines {
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
  readonly #socket: Socket;
  #list: Deadlines | undefined = undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  begin(list: Deadlines, nowMs: number): void {
    this.end();
    this.#list = list;
    list.add(this, nowMs);
  }

  end(): void {
    this.#list?.remove(this);
    this.#list = undefined;
  }

  onDeadline(): void {
    this.#list = undefined;
    // What undici takes for no failure of the requests that may come meanwhile.
    this.#socket.destroy(new errors.InformationalError('idle'));
  }
}
