import type { Socket } from 'node:net';
import type { SteadyClock } from '../../ops/clock.ts';

/** The part of undici's parser that deals with the end of an answer. */
export interface EndingParser {
  /** Whether the connection may be used again after the answer. */
  shouldKeepAlive: boolean;
  onMessageComplete(): number;
}

/** Short enough to notice that a name has moved, and so long that new connections cost almost nothing. */
const greatestAgeMs = 300_000;
/**
 * Each connection has its own greatest age, shorter or longer by up to this share, so that the connections of
 * one burst do not end together.
 */
const ageSpread = 0.1;

/**
 * Ends a connection after its first complete answer past the greatest age, as if the answer had asked for it.
 * A busy connection would otherwise stay at the address that the name had once. No request is in flight
 * between an answer and the next request, so nothing is cut off.
 * @returns when the connection is old, by the steady clock
 */
export function limitAge(socket: Socket, parser: EndingParser, clock: SteadyClock): number {
  const oldMs = clock.steadyNow() + greatestAgeMs * (1 + ageSpread * (2 * Math.random() - 1));
  const onMessageComplete = parser.onMessageComplete.bind(parser);
  parser.onMessageComplete = (): number => {
    // A connection that was cut off has ended already, and undici has to see that its answer was incomplete.
    if (!socket.destroyed && clock.steadyNow() >= oldMs) parser.shouldKeepAlive = false;
    return onMessageComplete();
  };
  return oldMs;
}
