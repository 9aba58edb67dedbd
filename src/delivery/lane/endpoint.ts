import { EndpointBreaker } from './breaker.ts';
import type { BreakerOptions } from './breaker.ts';
import { LogThrottle, LogThrottles } from '../../ops/log-throttle.ts';
import type { SkipCause } from '../labels.ts';
import { conditionShownBy } from '../outcome.ts';
import type { Outcome, RetryCause } from '../outcome.ts';
import type { PreparedEndpoint } from '../prepared-destination.ts';

/** A request may go out now, or not: `wait` until a probe's result is known, `no` while the breaker is open. */
export type Availability = 'yes' | 'wait' | 'no';

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
  readonly #breakerOptions: BreakerOptions;
  #breaker: EndpointBreaker | undefined;
  #probe: object | undefined;
  #closed = false;

  constructor(prepared: PreparedEndpoint, breakerOptions: BreakerOptions) {
    this.prepared = prepared;
    this.#breakerOptions = breakerOptions;
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

  ended(job: object, outcome: Outcome): void {
    this.inFlight -= 1;
    if (this.#closed) return;
    this.answers.add(outcome, this.#breakerOptions.clock.now());
    const shown = conditionShownBy(outcome);
    if (this.#probe === job) {
      this.#probe = undefined;
      this.#breaker?.endProbe(shown === 'up');
    } else if (shown === 'down') {
      this.#breaker ??= new EndpointBreaker(this.#breakerOptions);
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
    this.prepared = prepared;
    this.#closed = false;
  }

  /** Requests that are still in flight create no breaker anymore. */
  close(): void {
    this.#closed = true;
    this.#breaker?.shutdown();
    this.#breaker = undefined;
    this.#probe = undefined;
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
