import { EventEmitter } from 'node:events';
import CircuitBreaker from 'opossum';
import type { SteadyClock, Timer } from '../../ops/clock.ts';

export interface BreakerOptions {
  readonly clock: SteadyClock;
  readonly random: () => number;
  /** Called when the breaker opens, lets a probe through, or closes. */
  readonly onChange: (state: BreakerState) => void;
}

export type BreakerState = 'closed' | 'open' | 'half-open';

export const bucketMs = 1_000;
const buckets = 10;
const windowMs = buckets * bucketMs;
const requestsToOpen = 20;
/** So many requests in a window are far too few for opossum to decide anything, and two numbers do. */
const mostFew = requestsToOpen / 2;
const firstOpenMs = 10_000;
/**
 * Makes a probe come after about each thirtieth part of the outage. Events that come back between the
 * recovery and the probe that detects it are put off once more; with a fifth instead, that alone would be a
 * tenth of the backlog.
 */
const openGrowth = 1.03;
/** An event whose window ends between a recovery and the probe that detects it is lost. */
const maxOpenMs = 180_000;
const openJitter = 0.2;
const timeoutsToOpen = 5;
/** An endpoint with little traffic never fails often enough for the share of failures to count. */
const failuresToOpen = 5;
const failingMsToOpen = 5_000;
/**
 * opossum's own timer must never fire, because our clock decides when a breaker is half open. This is the
 * longest time that Node accepts.
 */
const neverMs = 2_147_483_647;

/**
 * One endpoint's breaker. opossum decides when failures are too many and what a probe's result means. The
 * clock is ours, so that simulated time drives the breaker, and the open time can grow.
 *
 * A breaker is created at the first failure. opossum's circuit takes more memory than all else that a failing
 * endpoint needs, so there is one only while it has something to decide: between the tenth request of a window
 * that has failures and the opening, and during a probe. While the breaker is closed, a success costs two events
 * and no promise.
 */
export class EndpointBreaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = 'closed';
  #circuit: Circuit | undefined;
  /** Requests since the first failure of a window, while there is no circuit to count them. */
  #few = 0;
  #fewFailures = 0;
  #fewSinceMs = 0;
  #openings = 0;
  /** The time of the first opening, by the steady clock. */
  #openedMs = 0;
  /** The time of the next probe, by the wall clock, for people. */
  #probeAtMs = 0;
  #timeoutsInRow = 0;
  #failuresInRow = 0;
  /** Time of the first failure in the current row; by the steady clock. */
  #firstFailureMs = 0;
  /** The time of the last failure, by the steady clock. */
  #lastFailureMs: number;
  #timer: Timer | undefined;
  #probing: PromiseWithResolvers<void> | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#lastFailureMs = options.clock.steadyNow();
  }

  get state(): BreakerState {
    return this.#state;
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  /** True while the breaker waits for its one probe to start. */
  get awaitsProbe(): boolean {
    return this.#state === 'half-open' && this.#circuit === undefined;
  }

  /** The time when the open breaker lets a request through. */
  get probeAtMs(): number | undefined {
    return this.#state === 'open' ? this.#probeAtMs : undefined;
  }

  /** Time since the breaker first opened, through all its probes; 0 while closed. */
  get openForMs(): number {
    return this.closed ? 0 : this.#options.clock.steadyNow() - this.#openedMs;
  }

  /** The breaker is closed and has had no failure since then, by the steady clock, so it can be dropped. */
  isIdleSince(timeMs: number): boolean {
    return this.closed && this.#lastFailureMs < timeMs;
  }

  /** Must be called once in `bucketMs`. */
  tick(): void {
    this.#circuit?.rotation.emit('rotate');
    const isClean = this.isIdleSince(this.#options.clock.steadyNow() - windowMs);
    if (isClean) this.#letGo();
  }

  /** An open breaker lets a request through at once. */
  probeNow(): void {
    if (this.#state !== 'open') return;
    this.#timer?.cancel();
    this.#become('half-open');
  }

  /** After this, `endProbe` reports the result. */
  startProbe(): void {
    const probing: PromiseWithResolvers<void> = Promise.withResolvers();
    this.#probing = probing;
    this.#circuit = this.#create({ state: halfOpen });
    this.#circuit.fire(probing.promise).catch(ignore);
  }

  /** Counts a request that was no probe. If it started before the breaker opened, it no longer counts. */
  succeeded(): void {
    this.#timeoutsInRow = 0;
    this.#failuresInRow = 0;
    if (!this.closed) return;
    if (this.#circuit === undefined) this.#countFew(false);
    else this.#circuit.counts(false);
  }

  failed(wasTimeout: boolean): void {
    this.#timeoutsInRow = wasTimeout ? this.#timeoutsInRow + 1 : 0;
    this.#failuresInRow += 1;
    this.#lastFailureMs = this.#options.clock.steadyNow();
    if (this.#failuresInRow === 1) this.#firstFailureMs = this.#lastFailureMs;
    if (!this.closed) return;
    if (this.#circuit === undefined) this.#countFew(true);
    else this.#circuit.fire(Promise.reject(failure)).catch(ignore);
    // Timeouts are few but slow: a hanging endpoint would hold its slots for long before the share of
    // failures counts.
    if (this.#timeoutsInRow >= timeoutsToOpen || this.#isFailing) this.#open();
  }

  /** The probe has shown whether the endpoint is alive. */
  endProbe(alive: boolean): void {
    const probing = this.#probing;
    this.#probing = undefined;
    this.#timeoutsInRow = 0;
    this.#failuresInRow = 0;
    if (alive) probing?.resolve();
    else probing?.reject(failure);
  }

  shutdown(): void {
    this.#timer?.cancel();
    this.#letGo();
  }

  get #isFailing(): boolean {
    if (this.#failuresInRow < failuresToOpen) return false;
    return this.#options.clock.steadyNow() - this.#firstFailureMs >= failingMsToOpen;
  }

  #countFew(isFailure: boolean): void {
    const nowMs = this.#options.clock.steadyNow();
    if (nowMs - this.#fewSinceMs >= windowMs) this.#few = this.#fewFailures = 0;
    if (this.#few === 0) {
      if (!isFailure) return;
      this.#fewSinceMs = nowMs;
    }
    this.#few += 1;
    if (isFailure) this.#fewFailures += 1;
    if (this.#few < mostFew) return;
    this.#circuit = this.#create({});
    for (let n = 0; n < this.#few; n += 1) this.#circuit.counts(n < this.#fewFailures);
    this.#few = this.#fewFailures = 0;
  }

  /**
   * opossum enters its half-open state by its own timer or by being restored in it, and its timer cannot follow
   * our clock.
   */
  #create(restored: { state?: CircuitBreaker.State }): Circuit {
    const circuit = new Circuit(restored);
    circuit.on('open', () => {
      this.#open();
    });
    circuit.on('close', () => {
      this.#openings = 0;
      this.#letGo();
      this.#become('closed');
    });
    return circuit;
  }

  #open(): void {
    const { clock, random } = this.#options;
    this.#letGo();
    if (this.#openings === 0) this.#openedMs = clock.steadyNow();
    const growing = firstOpenMs * openGrowth ** this.#openings;
    this.#openings += 1;
    const openMs = Math.min(growing, maxOpenMs) * (1 - openJitter * random());
    this.#probeAtMs = clock.now() + openMs;
    this.#timer = clock.after(openMs, () => {
      this.#become('half-open');
    });
    this.#become('open');
  }

  /** The circuit may still hear of requests that have ended, without effect. */
  #letGo(): void {
    this.#circuit?.shutdown();
    this.#circuit = undefined;
  }

  #become(state: BreakerState): void {
    this.#state = state;
    this.#options.onChange(state);
  }
}

/** The part of a breaker that opossum decides. */
class Circuit extends CircuitBreaker<[Promise<void>], void> {
  /** Turns the buckets of the window. */
  readonly rotation: EventEmitter;

  constructor(restored: { state?: CircuitBreaker.State }) {
    const rotation = new EventEmitter();
    super((result: Promise<void>) => result, {
      timeout: false,
      resetTimeout: neverMs,
      errorThresholdPercentage: 50,
      volumeThreshold: requestsToOpen,
      rollingCountTimeout: windowMs,
      rollingCountBuckets: buckets,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
      rotateBucketController: rotation,
      ...restored,
    });
    this.rotation = rotation;
  }

  /** Counts a request without judging it. */
  counts(isFailure: boolean): void {
    this.emit('fire');
    if (isFailure) this.emit('failure', failure, 0, []);
    else this.emit('success', undefined, 0);
  }
}

const halfOpen: CircuitBreaker.State = {
  name: 'restored',
  enabled: true,
  closed: false,
  open: false,
  halfOpen: true,
  warmUp: false,
  shutdown: false,
  // Unused: opossum needs it only to restore an open breaker.
  lastTimerAt: Symbol('none'),
};

const failure = new Error('the endpoint failed');

function ignore(): void {
  // The result is known where the request ended; opossum needs the promise, we do not.
}
