import type { Socket } from 'node:net';
import type { EndingParser } from './age-limit.ts';
import type { TimedParser } from './idle-connections.ts';

/** The parts of undici's parser that are adjusted here. */
export interface AnswerParser extends EndingParser, TimedParser {
  headers: Buffer[];
  onMessageBegin(): number;
  /** Counts the bytes of a head. */
  trackHeader(bytes: number): void;
  onHeadersComplete(status: number, isUpgrade: boolean, shouldKeepAlive: boolean): number;
}

/** The symbol under which undici keeps a connection's parser; known after the first connection. */
let place: symbol | undefined;

/** The parser of a connection that undici uses. undici does not export the class, which is adjusted here. */
export function parserOf(socket: Socket): AnswerParser | undefined {
  if (place !== undefined) return Reflect.get(socket, place) as AnswerParser | undefined;
  for (const symbol of Object.getOwnPropertySymbols(socket)) {
    const value: unknown = Reflect.get(socket, symbol);
    if (!isAnswerParser(value)) continue;
    const prototype = Object.getPrototypeOf(value) as AnswerParser;
    gatherAnew(prototype);
    countHeaders(prototype);
    passContinue(prototype);
    endWithoutStack(prototype);
    place = symbol;
    return value;
  }
  return undefined;
}

/**
 * undici makes the list of an answer's headers when the previous answer ends. By the time the list is filled
 * it is an old object, and V8 keeps its contents until the next full collection. With thousands of
 * connections, that was a large part of what young collections copied.
 */
function gatherAnew(prototype: AnswerParser): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- each parser calls it as its own
  const { onMessageBegin } = prototype;
  prototype.onMessageBegin = function (): number {
    this.headers = [];
    return onMessageBegin.call(this);
  };
}

/** What HTTP/2 adds for each header field (RFC 9113 §6.5.2); added here for each name and for each value. */
const entryBytes = 32;

/**
 * undici counts the bytes of names and values, and nothing for a header itself. 16 KB of `a:` are 16,000
 * headers, which take megabytes of heap while the rest of the head is missing; a few dozen such answers would
 * fill a worker's heap.
 */
function countHeaders(prototype: AnswerParser): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- each parser calls it as its own
  const { trackHeader } = prototype;
  prototype.trackHeader = function (bytes): void {
    trackHeader.call(this, bytes + entryBytes);
  };
}

const goOn = 100;
const otherInterim = 102;

/**
 * undici ends a connection on an unexpected `100 Continue`. Some servers send it before every answer, and a
 * client has to accept it (RFC 9110 §15.2), like any other interim answer.
 */
function passContinue(prototype: AnswerParser): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- each parser calls it as its own
  const { onHeadersComplete } = prototype;
  prototype.onHeadersComplete = function (status, isUpgrade, shouldKeepAlive): number {
    const known = status === goOn ? otherInterim : status;
    return onHeadersComplete.call(this, known, isUpgrade, shouldKeepAlive);
  };
}

/**
 * undici ends a connection that may not be used again with an error that nobody sees. Making its stack was a
 * twentieth of the cost of a delivery on a connection of its own.
 */
function endWithoutStack(prototype: AnswerParser): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- each parser calls it as its own
  const { onMessageComplete } = prototype;
  prototype.onMessageComplete = function (): number {
    if (this.shouldKeepAlive) return onMessageComplete.call(this);
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return onMessageComplete.call(this);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}

function isAnswerParser(value: unknown): value is AnswerParser {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['onMessageBegin', 'trackHeader', 'onHeadersComplete', 'onMessageComplete'].every(
      (name) => typeof Reflect.get(value, name) === 'function',
    )
  );
}
