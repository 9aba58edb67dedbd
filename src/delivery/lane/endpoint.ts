import { isDeepStrictEqual } from 'node:util';
import { EndpointBreaker } from './breaker.ts';
import type { BreakerOptions } from './breaker.ts';
import { LogThrottle, LogThrottles } from '../../ops/log-throttle.ts';
import type { SkipCause } from '../labels.ts';
import { conditionShownBy } from '../outcome.ts';
import type { Outcome, RetryCause } from '../outcome.ts';
import type { PreparedEndpoint } from '../prepared-destination.ts';
import type { UrlFacts } from '../status/standing.ts';
import { tokenRefused, withoutToken, type Login, type Tokens } from '../token/tokens.ts';

/** A request may go out now, or not: `wait` until a probe's result is known, `no` while the breaker is open. */
export type Availability = 'yes' | 'wait' | 'no';

export interface EndpointOptions extends BreakerOptions {
  readonly tokens: Tokens;
  /** The state of a login may have changed. */
  readonly onLogin: () => void;
}

/** A breaker without a failure for this long is dropped. The next failure creates a new one. */
const breakerIdleMs = 60_000;

/**
 * One URL of a lane: its breaker and its requests in flight. It survives changes of the destination that keep
 * the URL.
 */
export class Endpoint {
  prepared: PreparedEndpoint;
  inFlight = 0;
  readonly answers: Answers = new Answers();
  readonly failureLogs: LogThrottles<RetryCause> = new LogThrottles();
  /** One line a minute, because a URL may miss events all day long. */
  readonly skipLog: LogThrottle = new LogThrottle(60_000);
  readonly #options: EndpointOptions;
  #login: Login | undefined;
  #breaker: EndpointBreaker | undefined;
  #probe: object | undefined;
  #closed = false;

  constructor(prepared: PreparedEndpoint, options: EndpointOptions) {
    this.prepared = prepared;
    this.#options = options;
    this.#logIn(prepared);
  }

  /** The token that its requests need; undefined if they need none. */
  get login(): Login | undefined {
    return this.#login;
  }

  get breaker(): EndpointBreaker | undefined {
    return this.#breaker;
  }

  get availability(): Availability {
    const breaker = this.#breaker;
    if (breaker === undefined || breaker.closed || breaker.awaitsProbe) return 'yes';
    return breaker.state === 'half-open' ? 'wait' : 'no';
  }

  /** The reason why an event goes to other URLs and not to this one. */
  get skipCause(): SkipCause {
    if (this.#login !== undefined && this.#login.state !== 'ready') return 'token';
    return this.#breaker?.closed === false ? 'breaker' : 'busy';
  }

  /** A request starts. `job` only identifies it when it ends. */
  started(job: object): void {
    this.inFlight += 1;
    if (this.#breaker?.awaitsProbe === true) {
      this.#probe = job;
      this.#breaker.startProbe();
    }
  }

  /**
   * Tells what the outcome of a request says about the endpoint: a token that it refuses may have been revoked.
   * @param startedMs when the request was sent, by the steady clock
   */
  judge(outcome: Outcome, startedMs: number): Outcome {
    if (this.#login === undefined || outcome.status !== 401) return outcome;
    return this.#login.refused(startedMs) ? tokenRefused : outcome;
  }

  ended(job: object, outcome: Outcome): void {
    this.inFlight -= 1;
    if (this.#closed) return;
    this.answers.add(outcome, this.#options.clock.now());
    const shown = conditionShownBy(outcome);
    if (this.#probe === job) {
      this.#probe = undefined;
      this.#breaker?.endProbe(shown === 'up');
    } else if (shown === 'down') {
      this.#breaker ??= new EndpointBreaker(this.#options);
      this.#breaker.failed(outcome.kind === 'retryable' && outcome.cause === 'timeout');
    } else if (shown === 'up') {
      this.#breaker?.succeeded();
    }
  }

  /** Must be called once in `bucketMs`. */
  tick(nowMs: number): void {
    this.#breaker?.tick();
    if (this.#breaker?.isIdleSince(nowMs - breakerIdleMs) !== true) return;
    this.#breaker.shutdown();
    this.#breaker = undefined;
  }

  /** The destination has it, still or again. */
  use(prepared: PreparedEndpoint): void {
    if (this.#closed || !isDeepStrictEqual(prepared.oauth2, this.prepared.oauth2))
      this.#logIn(prepared);
    this.prepared = prepared;
    this.#closed = false;
  }

  /** The state that people are told: that of the URL's answers, or why no token can be had for it. */
  get told(): UrlFacts {
    const { failuresInRow, failingSinceMs, last, lastMs } = this.answers;
    const failure = this.#login?.failure;
    if (failure === undefined)
      return {
        breaker: this.#breaker?.state ?? 'closed',
        probeAtMs: this.#breaker?.probeAtMs,
        failuresInRow,
        failingSinceMs,
        last,
        lastMs,
      };
    return {
      breaker: 'open',
      probeAtMs: failure.nextTryMs,
      failuresInRow: failuresInRow + 1,
      failingSinceMs: Math.min(failingSinceMs ?? Infinity, failure.sinceMs),
      last: withoutToken(failure.detail),
      lastMs: failure.lastMs,
    };
  }

  /** Requests that are still in flight create no breaker anymore. */
  close(): void {
    this.#closed = true;
    this.#login?.close();
    this.#login = undefined;
    this.#breaker?.shutdown();
    this.#breaker = undefined;
    this.#probe = undefined;
  }

  #logIn({ oauth2 }: PreparedEndpoint): void {
    const { tokens, onLogin } = this.#options;
    const former = this.#login;
    this.#login = oauth2 === undefined ? undefined : tokens.logIn(oauth2, onLogin);
    former?.close();
  }
}

/** The recent answers of one URL. Times are epoch milliseconds. */
class Answers {
  /** Failures without a success between them. */
  failuresInRow = 0;
  failingSinceMs: number | undefined;
  last: Outcome | undefined;
  lastMs: number | undefined;

  /**
   * Records the end of a request. Outcomes that say nothing about the endpoint are left out, except refusals.
   */
  add(outcome: Outcome, nowMs: number): void {
    if (outcome.kind !== 'delivered' && conditionShownBy(outcome) === 'unknown') return;
    this.last = outcome;
    this.lastMs = nowMs;
    if (outcome.kind === 'delivered') {
      this.failuresInRow = 0;
      this.failingSinceMs = undefined;
    } else {
      this.failuresInRow += 1;
      this.failingSinceMs ??= nowMs;
    }
  }
}
