import type { Socket } from 'node:net';
import type { SteadyClock } from '../../ops/clock.ts';

/** Of undici's parser, what has to do with the end of an answer. */
export interface EndingParser {
  /** Whether the connection may be used again after the answer. */
  shouldKeepAlive: boolean;
  onMessageComplete(): number;
}

/** Often enough to notice where a name leads now, and so seldom that new connections cost nothing. */
const greatestAgeMs = 300_000;
/** Each connection has its own age, up to so much less or more: those of one burst do not end together. */
const ageSpread = 0.1;

/**
 * Ends a connection after the first answer that is complete when the connection is old, as if the answer
 * had asked for it. A connection that is always busy would otherwise stay where its name led once. Between
 * the end of an answer and the next request nothing is on its way, so nothing is cut.
 */
export function limitAge(socket: Socket, parser: EndingParser, clock: SteadyClock): void {
  const oldMs = clock.steadyNow() + greatestAgeMs * (1 + ageSpread * (2 * Math.random() - 1));
  const onMessageComplete = parser.onMessageComplete.bind(parser);
  parser.onMessageComplete = (): number => {
    // What was cut is over already, and undici has to see that it was not its end.
    if (!socket.destroyed && clock.steadyNow() >= oldMs) parser.shouldKeepAlive = false;
    return onMessageComplete();
  };
}
