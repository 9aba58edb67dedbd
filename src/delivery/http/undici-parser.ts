import type { Socket } from 'node:net';

/** A connection whose parser reports when it begins and ends to be idle. */
export interface ParsedConnection {
  /** The connection takes no request after the answer that ends now. */
  isOld(): boolean;
  /**
   * The connection waits for its next request.
   * @param askedMs how long the endpoint lets it wait, or the longest time that undici was given
   */
  becameIdle(askedMs: number): void;
  becameBusy(): void;
}

/** The parts of undici's parser that are used here. undici doesn't export the class. */
export interface AnswerParser {
  headers: Buffer[];
  /** The reason phrase of the answer that is being read; empty before its status line. */
  statusText: string;
  /** The status of the answer whose head has been read; 0 before that. */
  readonly statusCode: number;
  /** The connection may be used again after the answer. */
  shouldKeepAlive: boolean;
  timeoutType: number | null;
  readonly timeoutValue: number | null;
  /** @param kind what the timeout is for: an answer's head, its body, or the next request */
  setTimeout(delayMs: number, kind: number): void;
  onMessageBegin(): number;
  /** Counts the bytes of a head. */
  trackHeader(bytes: number): void;
  onHeadersComplete(status: number, isUpgrade: boolean, shouldKeepAlive: boolean): number;
  onMessageComplete(): number;
  /** @param rest the bytes that the parser has not read, beginning with what it objects to */
  createError(code: number, rest: Buffer): Error;
  readonly ptr: number;
  readonly llhttp: {
    llhttp_get_status_code(parser: number): number;
    llhttp_set_lenient_headers(parser: number, isOn: number): void;
    llhttp_set_lenient_optional_cr_before_lf(parser: number, isOn: number): void;
    llhttp_set_lenient_spaces_after_chunk_size(parser: number, isOn: number): void;
  };
}

/** The symbol under which undici keeps a connection's parser; known after the first connection. */
let place: symbol | undefined;

/**
 * Makes undici's parser of a connection read as browsers and curl do, and report to `connection`. undici has attached
 * the parser just before. Of undici's internals, this file alone knows any.
 * @returns false if a new release of undici has no such parser: the connection then works as undici has it
 */
export function adjustParser(socket: Socket, connection: ParsedConnection): boolean {
  const parser = parserOf(socket);
  if (parser === undefined) return false;
  takeOldForms(parser);
  endOld(parser, socket, connection);
  reportIdle(parser, connection);
  return true;
}

/** undici's parser of a connection, whose class has been adjusted. */
export function parserOf(socket: Socket): AnswerParser | undefined {
  if (place === undefined) return find(socket);
  const parser: unknown = Reflect.get(socket, place);
  return isAnswerParser(parser) ? parser : undefined;
}

function find(socket: Socket): AnswerParser | undefined {
  for (const symbol of Object.getOwnPropertySymbols(socket)) {
    const value: unknown = Reflect.get(socket, symbol);
    if (!isAnswerParser(value)) continue;
    const prototype = Object.getPrototypeOf(value) as AnswerParser;
    gatherAnew(prototype);
    countHeaders(prototype);
    passContinue(prototype);
    endWithoutStack(prototype);
    tellStatus(prototype);
    place = symbol;
    return value;
  }
  return undefined;
}

/**
 * Ends a connection after its first complete answer past its greatest age, as if the answer had asked for it. No
 * request is in flight between an answer and the next request, so nothing is cut off.
 */
function endOld(parser: AnswerParser, socket: Socket, connection: ParsedConnection): void {
  const onMessageComplete = parser.onMessageComplete.bind(parser);
  parser.onMessageComplete = (): number => {
    // A connection that was cut off has ended already, and undici has to see that its answer was incomplete.
    if (!socket.destroyed && connection.isOld()) parser.shouldKeepAlive = false;
    return onMessageComplete();
  };
}

/** undici's number for a connection that waits for its next request. */
const idleKind = 8;
const noKind = 0;

/**
 * Replaces undici's timer for an idle connection, and switches its other timers off: an attempt has a deadline of its
 * own.
 */
function reportIdle(parser: AnswerParser, connection: ParsedConnection): void {
  const { timeoutType, timeoutValue } = parser;
  parser.setTimeout(0, noKind);
  parser.setTimeout = (delayMs, kind): void => {
    parser.timeoutType = kind;
    connection.becameBusy();
    if (kind === idleKind) connection.becameIdle(delayMs);
  };
  // undici may have refused the request that the connection was opened for: then the connection is idle already.
  parser.setTimeout(timeoutValue ?? 0, timeoutType ?? noKind);
}

/**
 * Folded header lines (RFC 9112 §5.2), lines that end without a carriage return (§2.2), control characters in headers,
 * and blanks behind the size of a chunk. The parser refuses them because they can hide a second message from one of
 * two readers; here nobody else reads the connection.
 */
function takeOldForms({ llhttp, ptr }: AnswerParser): void {
  llhttp.llhttp_set_lenient_headers(ptr, 1);
  llhttp.llhttp_set_lenient_optional_cr_before_lf(ptr, 1);
  llhttp.llhttp_set_lenient_spaces_after_chunk_size(ptr, 1);
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
    this.statusText = '';
    return onMessageBegin.call(this);
  };
}

/** HTTP/2 adds so much for each header field (RFC 9113 §6.5.2); added here for each name and for each value. */
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

interface Objection extends Error {
  answeredStatus?: number;
}

/**
 * Tells an error the status of its answer: whatever the parser refuses, such as two lengths, comes behind a status.
 */
function tellStatus(prototype: AnswerParser): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- each parser calls it as its own
  const { createError } = prototype;
  prototype.createError = function (code, rest): Error {
    const error: Objection = createError.call(this, code, rest);
    // The connection may have ended in the head, and before the status line there still is the previous status.
    const isObjection = rest.length > 0 && (this.statusText !== '' || this.headers.length > 0);
    if (this.statusCode === 0 && isObjection)
      error.answeredStatus = this.llhttp.llhttp_get_status_code(this.ptr);
    return error;
  };
}

/** The final status of an answer whose head the parser objects to; undefined for all other errors. */
export function answeredStatus(error: Error): number | undefined {
  const { answeredStatus: status = 0 } = error as Objection;
  return status >= 200 ? status : undefined;
}

function isAnswerParser(value: unknown): value is AnswerParser {
  return (
    typeof value === 'object' &&
    value !== null &&
    [
      'onMessageBegin',
      'trackHeader',
      'onHeadersComplete',
      'onMessageComplete',
      'createError',
    ].every((name) => typeof Reflect.get(value, name) === 'function')
  );
}
