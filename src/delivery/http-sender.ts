import { Agent, errors } from 'undici';
import type { Dispatcher } from 'undici';
import type { Clock } from '../ops/clock.ts';
import type { AddressGuard } from './address-guard.ts';
import { guardedConnector } from './connector.ts';
import { Deadlines } from './deadlines.ts';
import type { Timed } from './deadlines.ts';
import { delivered, outcomeOfError, outcomeOfStatus, timedOut } from './outcome.ts';
import type { Outcome } from './outcome.ts';
import { requestHeaders } from './prepared-destination.ts';
import type { PreparedEndpoint } from './prepared-destination.ts';
import type { NameResolver } from './name-resolver.ts';
import type { Sender, Sending } from './sender.ts';

/** More of an answer's body than this is not read. */
const maxAnswerBytes = 65_536;
/** An endpoint may ask for less by `Keep-Alive: timeout=…`, or for up to a minute. */
const keepAliveMs = 30_000;
const maxKeepAliveMs = 60_000;

export interface HttpSenderOptions {
  /** For the whole attempt: name, connection, request, answer. */
  readonly timeoutMs: number;
  readonly guard: AddressGuard;
  readonly resolver: NameResolver;
  readonly clock: Clock;
}

/** Sends with undici. Redirects are never followed and bodies never decoded: `dispatch` does neither. */
export class HttpSender implements Sender {
  readonly #agent: Agent;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;

  constructor(options: HttpSenderOptions) {
    const { timeoutMs, guard, resolver, clock } = options;
    this.#clock = clock;
    this.#deadlines = new Deadlines(clock, timeoutMs);
    this.#agent = new Agent({
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: maxKeepAliveMs,
      // Ours is one deadline over all of it; these restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: guardedConnector({ timeoutMs, guard, resolver }),
    });
  }

  send(sending: Sending, endpoint: PreparedEndpoint, endpointIndex: number): void {
    const request = new HttpAttempt(sending, endpointIndex, this.#clock, this.#deadlines);
    this.#agent.dispatch(
      {
        origin: endpoint.origin,
        path: endpoint.path,
        method: 'POST',
        headers: requestHeaders(
          endpoint,
          sending.signature,
          sending.idempotencyHeader,
          sending.messageId,
        ),
        body: sending.body,
      },
      request,
    );
  }

  async close(): Promise<void> {
    this.#deadlines.close();
    await this.#agent.destroy();
  }
}

/** Ends a request whose outcome is known; undici wants an error for it. One for all spares the stack. */
const cut = new Error('the rest of the answer is not wanted');

class HttpAttempt implements Dispatcher.DispatchHandler, Timed {
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  readonly #sending: Sending;
  readonly #endpointIndex: number;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #startedMs: number;
  #controller: Dispatcher.DispatchController | undefined = undefined;
  #status = 0;
  #retryAfter: string | undefined = undefined;
  #readBytes = 0;
  #settled = false;

  constructor(sending: Sending, endpointIndex: number, clock: Clock, deadlines: Deadlines) {
    this.#sending = sending;
    this.#endpointIndex = endpointIndex;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#startedMs = clock.now();
    deadlines.add(this, this.#startedMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The deadline passed while the connection was being made.
    if (this.#settled) controller.abort(cut);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    if (status < 300) return;
    const retryAfter = headers['retry-after'];
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0];
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#readBytes += chunk.length;
    if (this.#readBytes <= maxAnswerBytes) return;
    this.#settle(this.#outcome());
    controller.abort(cut);
  }

  onResponseEnd(): void {
    this.#settle(this.#outcome());
  }

  onResponseError(_controller: unknown, error: Error): void {
    // `close` cut it: whoever reads the record next sends it.
    if (this.#settled || error instanceof errors.ClientDestroyedError) return;
    const outcome = outcomeOfError(error, this.#status !== 0);
    // What undici refuses to send arrives here inside `dispatch`, whose caller expects no outcome yet.
    process.nextTick(() => {
      this.#settle(outcome);
    });
  }

  onDeadline(): void {
    this.#settle(timedOut);
    this.#controller?.abort(cut);
  }

  #outcome(): Outcome {
    if (this.#status >= 200 && this.#status < 300) return delivered;
    return outcomeOfStatus(this.#status, this.#retryAfter, this.#clock.now());
  }

  #settle(outcome: Outcome): void {
    if (this.#settled) return;
    this.#settled = true;
    if (outcome !== timedOut) this.#deadlines.remove(this);
    this.#sending.settled(outcome, this.#endpointIndex, this.#clock.now() - this.#startedMs);
  }
}
