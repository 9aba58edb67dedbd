import { errors } from 'undici';
import type { Dispatcher } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import type { Caller, Connections } from './connections.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import {
  deliveredWith,
  endlessInterim,
  isConnectionLoss,
  mostKeptAnswerBytes,
  outcomeOfError,
  outcomeOfStatus,
  timedOut,
  unreachedInTime,
} from '../outcome.ts';
import type { Outcome, Progress } from '../outcome.ts';
import type { PreparedEndpoint } from '../prepared-destination.ts';
import type { Sending } from '../sender.ts';

/** More of an answer's body than this is not read. */
const maxAnswerBytes = 65_536;
/** More than any server has reason to send; each costs as much as an answer. */
const maxInterimAnswers = 64;

/** What the attempts of one sender share. */
export interface AttemptContext {
  readonly clock: SteadyClock;
  readonly deadlines: Deadlines;
  readonly connections: Connections;
  sendAgain(attempt: HttpAttempt): void;
}

/** Ends a request whose outcome is known; undici wants an error for it. One for all spares the stack. */
const cut = new Error('the rest of the answer is not wanted');

/** One try at one URL, from the first look at the name to the last byte of the answer. */
export class HttpAttempt implements Dispatcher.DispatchHandler, Caller, Timed {
  readonly sending: Sending;
  readonly endpoint: PreparedEndpoint;
  isReached = false;
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  readonly #endpointIndex: number;
  readonly #context: AttemptContext;
  readonly #startedMs: number;
  #controller: Dispatcher.DispatchController | undefined = undefined;
  #isFirstOnConnection = false;
  #hasAnswerBegun = false;
  #interimAnswers = 0;
  #status = 0;
  #retryAfter: string | string[] | undefined = undefined;
  #readBytes = 0;
  /** How the body of an answer begins that is no delivery. */
  #answer: Buffer | undefined = undefined;
  #settled = false;

  constructor(
    sending: Sending,
    endpoint: PreparedEndpoint,
    endpointIndex: number,
    context: AttemptContext,
  ) {
    this.sending = sending;
    this.endpoint = endpoint;
    this.#endpointIndex = endpointIndex;
    this.#context = context;
    this.#startedMs = context.clock.steadyNow();
    context.deadlines.add(this, this.#startedMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.isReached = true;
    this.#isFirstOnConnection = this.#context.connections.isStarting;
    // The deadline passed while the connection was being made.
    if (this.#settled) controller.abort(cut);
  }

  onResponseStarted(): void {
    this.#hasAnswerBegun = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status >= 102 && status < 200) {
      this.#interimAnswers += 1;
      if (this.#interimAnswers > maxInterimAnswers) this.#cutWith(controller, endlessInterim);
      return;
    }
    this.#status = status;
    if (status >= 300) this.#retryAfter = headers['retry-after'];
    // No answer to a POST that asked for neither, nor any at all: undici would wait for another.
    if (status < 102) this.#cutWith(controller, this.#outcome());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#status >= 300 && this.#readBytes < mostKeptAnswerBytes) this.#keep(chunk);
    this.#readBytes += chunk.length;
    if (this.#readBytes > maxAnswerBytes) this.#cutWith(controller, this.#outcome());
  }

  onResponseEnd(): void {
    this.#settle(this.#outcome());
  }

  onResponseError(_controller: unknown, error: Error): void {
    // `close` cut it: whoever reads the record next sends it.
    if (this.#settled || error instanceof errors.ClientDestroyedError) return;
    if (this.#wasLostWithKeptConnection(error)) {
      this.isReached = false;
      this.#context.sendAgain(this);
      return;
    }
    const outcome = outcomeOfError(error, this.#progress());
    // What undici refuses to send arrives here inside `dispatch`, whose caller expects no outcome yet.
    process.nextTick(() => {
      this.#settle(outcome);
    });
  }

  onDeadline(): void {
    this.#end(this.isReached ? timedOut : unreachedInTime);
    this.#controller?.abort(cut);
  }

  /** The server may have closed it while the request was on its way, or waited for it: undici fails both. */
  #wasLostWithKeptConnection(error: Error): boolean {
    const isNew = this.#isFirstOnConnection || this.#context.connections.isStarting;
    return !isNew && !this.#hasAnswerBegun && isConnectionLoss(error);
  }

  /** At an error. One that comes while no connection fails is not for want of one. */
  #progress(): Progress {
    if (this.#status !== 0) return 'answering';
    return this.isReached || !this.#context.connections.isStarting ? 'reached' : 'unreached';
  }

  #outcome(): Outcome {
    const status = this.#status;
    if (status >= 200 && status < 300) return deliveredWith(status);
    return outcomeOfStatus(status, this.#retryAfter, this.#context.clock.now(), this.#answer);
  }

  /** A copy: the chunk is a part of what was read from the socket, and would keep all of it. */
  #keep(chunk: Buffer): void {
    const more = chunk.subarray(0, mostKeptAnswerBytes - this.#readBytes);
    this.#answer = Buffer.concat(this.#answer === undefined ? [more] : [this.#answer, more]);
  }

  #cutWith(controller: Dispatcher.DispatchController, outcome: Outcome): void {
    this.#settle(outcome);
    controller.abort(cut);
  }

  #settle(outcome: Outcome): void {
    if (this.#settled) return;
    this.#context.deadlines.remove(this);
    this.#end(outcome);
  }

  /** Once, when it is in the list of deadlines no more. */
  #end(outcome: Outcome): void {
    this.#settled = true;
    const { clock } = this.#context;
    this.sending.settled(outcome, this.#endpointIndex, clock.steadyNow() - this.#startedMs);
  }
}
