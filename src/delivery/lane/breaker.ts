import type { EventEmitter } from 'node:events';
import CircuitBreaker from 'opossum';
import type { SteadyClock, Timer } from '../../ops/clock.ts';

type Circuit = CircuitBreaker<[Promise<void>], void>;

export interface BreakerOptions {
  readonly clock: SteadyClock;
  readonly random: () => number;
  /** Emits `rotate` once a bucket; one timer for all breakers. */
  readonly rotation: EventEmitter;
  /** Called when it opens, lets a probe through, or closes. */
  readonly onChange: (state: BreakerState) => void;
}

export type BreakerState = 'closed' | 'open' | 'half-open';

export const bucketMs = 1_000;
const buckets = 10;
const firstOpenMs = 10_000;
/**
 * So that a probe comes about every thirtieth part of the outage. What comes back between the recovery and
 * the probe that sees it is put off once more: with a fifth, that alone is a tenth of the backlog.
 */
const openGrowth = 1.03;
/** An event whose window ends between a recovery and the probe that sees it is lost to it. */
const maxOpenMs = 180_000;
const openJitter = 0.2;
const timeoutsToOpen = 5;
/** An endpoint with little traffic never fails often enough for a share to show. */
const failuresToOpen = 5;
const failingMsToOpen = 5_000;
/** opossum's own timer must never fire: half-open comes by our clock. The longest that Node takes. */
const neverMs = 2_147_483_647;

/**
 * One endpoint's breaker: opossum decides when failures are too many and what a probe's result means; the
 * clock is ours, so that simulated time drives it, and the open time can grow.
 *
 * Made at the first failure. While it is closed a success costs two events and no promise.
 */
export class EndpointBreaker {
  readonly #options: BreakerOptions;
  #circuit: Circuit;
  #openings = 0;
  /** By the steady clock. */
  #openedMs = 0;
  #openMs = 0;
  /** By the wall clock. */
  #probeAtMs = 0;
  #timeoutsInRow = 0;
  #failuresInRow = 0;
  /** Of those in a row; by the steady clock. */
  #firstFailureMs = 0;
  #lastFailureMs: number;
  #timer: Timer | undefined;
  #probing: PromiseWithResolvers<void> | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#lastFailureMs = options.clock.now();
    this.#circuit = this.#create({});
  }

  get state(): BreakerState {
    if (this.#circuit.closed) return 'closed';
    return this.#circuit.halfOpen ? 'half-open' : 'open';
  }

  get closed(): boolean {
    return this.#circuit.closed;
  }

  /** True while the one request that decides may start. */
  get awaitsProbe(): boolean {
    return this.#circuit.halfOpen && this.#circuit.pendingClose;
  }

  /** When a request is let through, while it is open. */
  get probeAtMs(): number | undefined {
    return this.state === 'open' ? this.#probeAtMs : undefined;
  }

  /** Since it first opened, through all its probes; 0 while closed. */
  get openForMs(): number {
    return this.#circuit.closed ? 0 : this.#options.clock.steadyNow() - this.#openedMs;
  }

  /** Closed and without failures since then: as good as none. */
  isIdleSince(timeMs: number): boolean {
    return this.#circuit.closed && this.#lastFailureMs < timeMs;
  }

  /** The next result that `record` gets is the probe's. */
  startProbe(): void {
    const probing: PromiseWithResolvers<void> = Promise.withResolvers();
    this.#probing = probing;
    this.#circuit.fire(probing.promise).catch(ignore);
  }

  /** Of a request that was no probe. One that started before the breaker opened says nothing any more. */
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
    if (this.#failuresInRow === 1) this.#firstFailureMs = this.#options.clock.steadyNow();
    this.#lastFailureMs = this.#options.clock.now();
    if (!this.#circuit.closed) return;
    this.#circuit.fire(Promise.reject(failure)).catch(ignore);
    // Slow failures are few: a hanging endpoint would hold its slots for long before a share shows.
    if (this.#timeoutsInRow >= timeoutsToOpen || this.#isFailing) this.#circuit.open();
  }

  /** The endpoint is alive, or not, as the probe found out. */
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

  /** opossum enters this state by its own timer or by being restored in it; the timer is not ours to move. */
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
        // Of no use: it is for breakers that are restored open.
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
