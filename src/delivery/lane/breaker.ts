import type { EventEmitter } from 'node:events';
import CircuitBreaker from 'opossum';
import type { SteadyClock, Timer } from '../../ops/clock.ts';

type Circuit = CircuitBreaker<[Promise<void>], void>;

export interface BreakerOptions {
  readonly clock: SteadyClock;
  readonly random: () => number;
  /** Emits `rotate` once a bucket; one timer for all breakers. */
  readonly rotation: EventEmitter;
  /** Called when the breaker opens, lets a probe through, or closes. */
  readonly onChange: (state: BreakerState) => void;
}

export type BreakerState = 'closed' | 'open' | 'half-open';

export const bucketMs = 1_000;
const buckets = 10;
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
 * A breaker is created at the first failure. While it is closed, a success costs two events and no promise.
 */
export class EndpointBreaker {
  readonly #options: BreakerOptions;
  #circuit: Circuit;
  #openings = 0;
  /** By the steady clock. */
  #openedMs = 0;
  #openMs = 0;
  /** By the wall clock, for people. */
  #probeAtMs = 0;
  #timeoutsInRow = 0;
  #failuresInRow = 0;
  /** Time of the first failure in the current row; by the steady clock. */
  #firstFailureMs = 0;
  /** By the steady clock. */
  #lastFailureMs: number;
  #timer: Timer | undefined;
  #probing: PromiseWithResolvers<void> | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#lastFailureMs = options.clock.steadyNow();
    this.#circuit = this.#create({});
  }

  get state(): BreakerState {
    if (this.#circuit.closed) return 'closed';
    return this.#circuit.halfOpen ? 'half-open' : 'open';
  }

  get closed(): boolean {
    return this.#circuit.closed;
  }

  /** True while the breaker waits for its one probe to start. */
  get awaitsProbe(): boolean {
    return this.#circuit.halfOpen && this.#circuit.pendingClose;
  }

  /** When the open breaker lets a request through. */
  get probeAtMs(): number | undefined {
    return this.state === 'open' ? this.#probeAtMs : undefined;
  }

  /** Time since the breaker first opened, through all its probes; 0 while closed. */
  get openForMs(): number {
    return this.#circuit.closed ? 0 : this.#options.clock.steadyNow() - this.#openedMs;
  }

  /** The breaker is closed and has had no failure since then, by the steady clock, so it can be dropped. */
  isIdleSince(timeMs: number): boolean {
    return this.#circuit.closed && this.#lastFailureMs < timeMs;
  }

  /** After this, `endProbe` reports the result. */
  startProbe(): void {
    const probing: PromiseWithResolvers<void> = Promise.withResolvers();
    this.#probing = probing;
    this.#circuit.fire(probing.promise).catch(ignore);
  }

  /** For a request that was no probe. If it started before the breaker opened, it no longer counts. */
  succeeded(): void {
    this.#timeoutsInRow = 0;
    this.#failuresInRow = 0;
    if (!this.#circuit.closed) return;
    this.#circuit.emit('fire');
    this.#circuit.emit('success', undefined, 0);
  }

  failed(wasTimeout: boolean): void {
    this.#timeoutsInRow = wasTimeout ? this.#timeoutsInRow + 1 : 0;
    this.#failuresInRow += 1;
    this.#lastFailureMs = this.#options.clock.steadyNow();
    if (this.#failuresInRow === 1) this.#firstFailureMs = this.#lastFailureMs;
    if (!this.#circuit.closed) return;
    this.#circuit.fire(Promise.reject(failure)).catch(ignore);
    // Timeouts are few but slow: a hanging endpoint would hold its slots for long before the share of
    // failures counts.
    if (this.#timeoutsInRow >= timeoutsToOpen || this.#isFailing) this.#circuit.open();
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
    this.#circuit.shutdown();
  }

  get #isFailing(): boolean {
    if (this.#failuresInRow < failuresToOpen) return false;
    return this.#options.clock.steadyNow() - this.#firstFailureMs >= failingMsToOpen;
  }

  #create(restored: { state?: CircuitBreaker.State }): Circuit {
    const circuit: Circuit = new CircuitBreaker((result: Promise<void>) => result, {
      timeout: false,
      resetTimeout: neverMs,
      errorThresholdPercentage: 50,
      volumeThreshold: 20,
      rollingCountTimeout: buckets * bucketMs,
      rollingCountBuckets: buckets,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
      rotateBucketController: this.#options.rotation,
      ...restored,
    });
    circuit.on('open', () => {
      this.#opened();
    });
    circuit.on('close', () => {
      this.#openings = 0;
      this.#options.onChange('closed');
    });
    return circuit;
  }

  #opened(): void {
    const { clock, random } = this.#options;
    if (this.#openings === 0) this.#openedMs = clock.steadyNow();
    const growing = firstOpenMs * openGrowth ** this.#openings;
    this.#openings += 1;
    this.#openMs = Math.min(growing, maxOpenMs) * (1 - openJitter * random());
    this.#probeAtMs = clock.now() + this.#openMs;
    this.#timer = clock.after(this.#openMs, () => {
      this.#halfOpen();
    });
    this.#options.onChange('open');
  }

  /**
   * opossum enters this state by its own timer or by being restored in it, and its timer cannot follow our
   * clock.
   */
  #halfOpen(): void {
    const spent = this.#circuit;
    this.#circuit = this.#create({
      state: {
        name: spent.name,
        enabled: true,
        closed: false,
        open: false,
        halfOpen: true,
        warmUp: false,
        shutdown: false,
        // Unused: opossum needs it only to restore an open breaker.
        lastTimerAt: Symbol('none'),
      },
    });
    spent.shutdown();
    this.#options.onChange('half-open');
  }
}

const failure = new Error('the endpoint failed');

function ignore(): void {
  // The result is known where the request ended; opossum needs the promise, we do not.
}
