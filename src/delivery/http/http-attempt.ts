import { errors } from 'undici';
import type { Dispatcher } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import type { Caller, Connector } from './connector.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import type { Occupant } from './origin-connections.ts';
import { answeredStatus } from './undici-parser.ts';
import { toldHeadersOf, type KeptAnswer } from '../kept-answer.ts';
import { isConnectionLoss, isNotHttp, outcomeOfError } from './errors.ts';
import {
  deliveredDespite,
  deliveredWith,
  endlessInterim,
  outcomeOfStatus,
  proxySilent,
  silentOnKeptConnection,
  timedOut,
  unreachedInTime,
} from '../outcome.ts';
import type { Progress } from './errors.ts';
import { mostResultsBytes, outcomeOfResults } from '../batch/results.ts';
import type { Outcome } from '../outcome.ts';
import type { PreparedEndpoint } from '../prepared-destination.ts';
import type { Sending } from '../sender.ts';

/** The rest of a longer body is not read, unless it may have results for a batch. */
const maxAnswerBytes = 65_536;
/** The status by which an answer says that its body has one for each event. */
const multiStatus = 207;
/**
 * More interim answers than any server has reason to send. Reading each costs as much as reading an answer.
 */
const maxInterimAnswers = 64;
/** The answer to a body with a `Content-Encoding` that the endpoint cannot read. */
const unsupportedMediaType = 415;

type Headers = Record<string, string | string[] | undefined>;

/** The sender, as its attempts see it. */
export interface AttemptContext {
  readonly clock: SteadyClock;
  readonly connector: Connector;
  /** The most bytes that are kept of the body of an answer that is no success. */
  readonly keptAnswerBytes: number;
  /** The deadlines of attempts at this endpoint, which all have the same length. */
  deadlinesOf(endpoint: PreparedEndpoint): Deadlines;
  /** Sends the request once more, on a new connection. */
  sendAgain(attempt: HttpAttempt): void;
}

/**
 * Ends a request whose outcome is known. undici requires an error for that; one shared object saves making a
 * stack.
 */
const cut = new Error('the rest of the answer is not wanted');

/** One try at one URL, from resolving the name to the last byte of the answer. */
export class HttpAttempt implements Occupant, Caller, Timed {
  readonly sending: Sending;
  readonly endpoint: PreparedEndpoint;
  /** With the query. */
  readonly path: string;
  /** The bytes that are sent: those of the sending, or compressed. */
  body: Buffer;
  isCompressed = false;
  isReached = false;
  awaitsProxy = false;
  isRefused = false;
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  readonly #endpointIndex: number;
  readonly #context: AttemptContext;
  readonly #deadlines: Deadlines;
  readonly #startedMs: number;
  #controller: Dispatcher.DispatchController | undefined = undefined;
  #isFirstOnConnection = false;
  #hasAnswerBegun = false;
  #interimAnswers = 0;
  #status = 0;
  /** The headers of an answer that is no success. */
  #headers: Headers | undefined = undefined;
  #readBytes = 0;
  /** The beginning of that answer's body; all of the body of an answer that may have results for a batch. */
  #kept: Buffer | undefined = undefined;
  #settled = false;
  /** The outcome of the whole answer, until it is told. */
  #answered: Outcome | undefined = undefined;
  #answeredAfterMs = 0;

  constructor(
    sending: Sending,
    endpoint: PreparedEndpoint,
    endpointIndex: number,
    path: string,
    context: AttemptContext,
  ) {
    this.sending = sending;
    this.endpoint = endpoint;
    this.path = path;
    this.body = sending.body;
    this.#endpointIndex = endpointIndex;
    this.#context = context;
    this.#startedMs = context.clock.steadyNow();
    this.#deadlines = context.deadlinesOf(endpoint);
    this.#deadlines.add(this, this.#startedMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.isReached = true;
    this.#isFirstOnConnection = this.#context.connector.isStarting;
    // While the connection was being made the deadline has passed, perhaps in a process that stood still, whose
    // overdue timers come after this. What is sent now could follow the word that its user was deleted.
    const isLate = this.#context.clock.steadyNow() >= this.deadlineMs;
    if (isLate && this.#finish())
      process.nextTick(() => {
        this.#tell(unreachedInTime, this.#tookMs());
      });
    if (this.#settled) controller.abort(cut);
  }

  onResponseStarted(): void {
    this.#hasAnswerBegun = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    if (status >= 102 && status < 200) {
      this.#interimAnswers += 1;
      if (this.#interimAnswers > maxInterimAnswers) this.#cutWith(controller, endlessInterim);
      return;
    }
    this.#status = status;
    if (status >= 300) this.#headers = headers;
    // A final answer of 101 or below makes no sense for a POST that asked for no upgrade, and undici would
    // wait for another one.
    if (status < 102) this.#cutWith(controller, this.#outcome());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const keptBytes = this.#status >= 300 ? this.#context.keptAnswerBytes : this.#resultsBytes;
    if (this.#readBytes < keptBytes) this.#keep(chunk, keptBytes);
    this.#readBytes += chunk.length;
    if (this.#readBytes > Math.max(maxAnswerBytes, this.#resultsBytes))
      this.#cutWith(controller, this.#outcome());
  }

  /** The outcome is told once the connection is free: the request that follows at once would open another one. */
  onResponseEnd(): void {
    if (this.#isCompressionRefused) {
      this.#sendUncompressed();
      return;
    }
    if (!this.#finish()) return;
    this.#answered = this.#outcome();
    this.#answeredAfterMs = this.#tookMs();
  }

  get timeoutMs(): number {
    return this.#deadlines.timeoutMs;
  }

  get authorization(): string | undefined {
    return this.sending.authorization(this.#endpointIndex);
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  get mayFollow(): boolean {
    return this.sending.mayFollow(this.#endpointIndex);
  }

  connectionFreed(): void {
    const outcome = this.#answered;
    if (outcome === undefined) return;
    this.#answered = undefined;
    this.#tell(outcome, this.#answeredAfterMs);
  }

  onResponseError(_controller: unknown, error: Error): void {
    // `close` ended this request; the next reader of its record sends it again.
    if (this.#settled || error instanceof errors.ClientDestroyedError) return;
    const status = answeredStatus(error);
    if (this.isCompressed && (status ?? this.#status) === unsupportedMediaType) {
      this.#sendUncompressed();
      return;
    }
    if (status === undefined && this.#failedOnKeptConnection(error)) {
      this.isReached = false;
      this.#context.sendAgain(this);
      return;
    }
    const failed = outcomeOfError(error, this.#progress());
    this.#status ||= status ?? 0;
    const outcome = this.#isTaken
      ? deliveredDespite(this.#status, failed)
      : status === undefined || this.#isSuccess
        ? failed
        : this.#outcome();
    // This may be inside `dispatch`, whose caller expects no outcome yet.
    this.isRefused = error instanceof errors.InvalidArgumentError;
    process.nextTick(() => {
      this.#settle(outcome);
    });
  }

  onDeadline(): void {
    this.#settled = true;
    this.#tell(this.#lateOutcome(), this.#tookMs());
    this.#controller?.abort(cut);
  }

  /**
   * The head of the answer says so: whatever comes behind it, the endpoint has the event. A 207 says that only its body
   * tells which events of a batch the endpoint has.
   */
  get #isTaken(): boolean {
    const isSaidBehind = this.#status === multiStatus && this.sending.batchSize > 0;
    return this.#isSuccess && !isSaidBehind;
  }

  get #isSuccess(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }

  get #isCompressionRefused(): boolean {
    return this.isCompressed && this.#status === unsupportedMediaType && !this.#settled;
  }

  /** Repeats the request within this attempt: the endpoint has judged its encoding, and not the event. */
  #sendUncompressed(): void {
    const { clock } = this.#context;
    this.endpoint.compression?.refused(clock);
    this.body = this.sending.body;
    this.isCompressed = false;
    this.isReached = false;
    this.#controller = undefined;
    this.#hasAnswerBegun = false;
    this.#interimAnswers = 0;
    this.#status = 0;
    this.#headers = undefined;
    this.#readBytes = 0;
    this.#kept = undefined;
    this.#context.sendAgain(this);
  }

  /** The most bytes of the body of an answer that may have results for a batch. */
  get #resultsBytes(): number {
    return this.#isSuccess && this.sending.batchSize > 0 ? mostResultsBytes : 0;
  }

  #lateOutcome(): Outcome {
    if (this.awaitsProxy) return proxySilent;
    if (!this.isReached) return unreachedInTime;
    if (this.#isTaken) return deliveredDespite(this.#status, timedOut);
    return this.#isFirstOnConnection || this.#hasAnswerBegun ? timedOut : silentOnKeptConnection;
  }

  /**
   * The server may have closed the connection while the request was on its way, or waited for it; undici fails
   * both kinds of request. Or the connection brought bytes behind its previous answer, which undici took for
   * the answer to this request.
   */
  #failedOnKeptConnection(error: Error): boolean {
    if (this.#isFirstOnConnection || this.#context.connector.isStarting) return false;
    if (isConnectionLoss(error)) return !this.#hasAnswerBegun;
    return this.#status === 0 && isNotHttp(error);
  }

  /**
   * The attempt's progress when an error came. An error that comes while no connection is being made is not
   * a failure to connect.
   */
  #progress(): Progress {
    if (this.#status !== 0) return 'answering';
    return this.isReached || !this.#context.connector.isStarting ? 'reached' : 'unreached';
  }

  #outcome(): Outcome {
    const status = this.#status;
    if (this.#isSuccess && this.isCompressed) this.endpoint.compression?.taken();
    if (this.#isSuccess) return this.#success();
    const headers = this.#headers;
    const nowMs = this.#context.clock.now();
    const { answerRules } = this.endpoint;
    if (headers === undefined)
      return outcomeOfStatus(status, undefined, nowMs, undefined, answerRules);
    const answer: KeptAnswer = {
      ...(this.#kept === undefined ? {} : { body: this.#kept }),
      isCut: this.#kept !== undefined && this.#readBytes > this.#kept.length,
      headers: toldHeadersOf(headers, this.endpoint),
    };
    return outcomeOfStatus(status, headers['retry-after'], nowMs, answer, answerRules);
  }

  #success(): Outcome {
    const { batchSize } = this.sending;
    if (batchSize === 0) return deliveredWith(this.#status);
    const isCut = this.#readBytes > mostResultsBytes;
    return outcomeOfResults(this.#status, batchSize, isCut ? undefined : this.#kept, {
      answerRules: this.endpoint.answerRules,
      keptAnswerBytes: this.#context.keptAnswerBytes,
    });
  }

  /**
   * Copied, because a chunk is a slice of what was read from the socket, and would keep all of it.
   * @param keptBytes the most that are kept of the body
   */
  #keep(chunk: Buffer, keptBytes: number): void {
    const more = chunk.subarray(0, keptBytes - this.#readBytes);
    this.#kept = Buffer.concat(this.#kept === undefined ? [more] : [this.#kept, more]);
  }

  #cutWith(controller: Dispatcher.DispatchController, outcome: Outcome): void {
    if (!this.#isCompressionRefused) this.#settle(outcome);
    controller.abort(cut);
  }

  #settle(outcome: Outcome): void {
    if (this.#finish()) this.#tell(outcome, this.#tookMs());
  }

  /** @returns false if the outcome is known already */
  #finish(): boolean {
    if (this.#settled) return false;
    this.#deadlines.remove(this);
    this.#settled = true;
    return true;
  }

  /** Must be called once, after `#finish`. */
  #tell(outcome: Outcome, tookMs: number): void {
    this.sending.settled(outcome, this.#endpointIndex, tookMs);
  }

  #tookMs(): number {
    return this.#context.clock.steadyNow() - this.#startedMs;
  }
}
