import type { Socket } from 'node:net';
import type { EndingParser } from './age-limit.ts';
import type { TimedParser } from './idle-connections.ts';

/** The parts of undici's parser that are not as we need them. */
export interface AnswerParser extends EndingParser, TimedParser {
  headers: Buffer[];
  onMessageBegin(): number;
  /** Adds up what a head takes. */
  trackHeader(bytes: number): void;
  onHeadersComplete(status: number, isUpgrade: boolean, shouldKeepAlive: boolean): number;
}

/** Where undici keeps a connection's parser; known since the first one. */
let place: symbol | undefined;

/** The parser of a connection that undici has taken. It does not export the class, which is adjusted here. */
export function parserOf(socket: Socket): AnswerParser | undefined {
  if (place !== undefined) return Reflect.get(socket, place) as AnswerParser | undefined;
  for (const symbol of Object.getOwnPropertySymbols(socket)) {
    const value: unknown = Reflect.get(socket, symbol);
    if (!isAnswerParser(value)) continue;
    const prototype = Object.getPrototypeOf(value) as AnswerParser;
    gatherAnew(prototype);
    countHeaders(prototype);
    passContinue(prototype);
    place = symbol;
    return value;
  }
  return undefined;
}

/**
 * undici makes the list of an answer's headers when the answer before it ends. By the time that it is filled
 * it is an old object, whose contents V8 keeps until the next full collection, whether anybody needs it or
 * not: with thousands of connections, half of what young collections copied.
 */
function gatherAnew(prototype: AnswerParser): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- each parser calls it as its own
  const { onMessageBegin } = prototype;
  prototype.onMessageBegin = function (): number {
    this.headers = [];
    return onMessageBegin.call(this);
  };
}

/** What HTTP/2 counts for each header beside its bytes (RFC 9113 §6.5.2), here for a name and for a value. */
const entryBytes = 32;

/**
 * undici counts the bytes of names and values, and nothing for having one: 16 KB of `a:` are 16,000 headers,
 * which take 3.5 MB while the rest of the head is waited for; 64 such answers fill a worker's heap.
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
 * undici ends a connection on which `100 Continue` comes without having been asked for. Some servers say it
 * before every answer, and a client has to take that (RFC 9110 §15.2), like any other interim answer.
 */
function passContinue(prototype: AnswerParser): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- each parser calls it as its own
  const { onHeadersComplete } = prototype;
  prototype.onHeadersComplete = function (status, isUpgrade, shouldKeepAlive): number {
    const known = status === goOn ? otherInterim : status;
    return onHeadersComplete.call(this, known, isUpgrade, shouldKeepAlive);
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
