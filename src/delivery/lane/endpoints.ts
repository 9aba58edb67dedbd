import type { BreakerOptions, BreakerState } from './breaker.ts';
import { Endpoint } from './endpoint.ts';
import type { Availability } from './endpoint.ts';
import type { Job } from '../job.ts';
import { skipped, worse } from '../outcome.ts';
import type { PreparedDestination } from '../prepared-destination.ts';
import type { Reachability } from '../reachability.ts';
import type { Sender } from '../sender.ts';

export interface EndpointsOptions extends BreakerOptions {
  readonly reachability: Reachability;
}

/** The URLs of a lane's destination, as one: an event needs only one that takes it. */
export class LaneEndpoints {
  readonly #options: BreakerOptions;
  readonly #reachability: Reachability;
  #all: readonly Endpoint[] = [];
  #troubled = false;

  /** `options.onChange` is called after the change shows here. */
  constructor(options: EndpointsOptions) {
    const { clock, random, rotation, reachability } = options;
    this.#reachability = reachability;
    const onChange = (state: BreakerState): void => {
      this.#look();
      options.onChange(state);
    };
    this.#options = { clock, random, rotation, onChange };
  }

  /** Never changed, and replaced when the URLs are others: a job keeps those it was sent to. */
  get all(): readonly Endpoint[] {
    return this.#all;
  }

  /** Some breaker is not closed. */
  get troubled(): boolean {
    return this.#troubled;
  }

  /** Of the best URL. */
  get availability(): Availability {
    if (!this.#troubled) return 'yes';
    let best: Availability = 'no';
    for (const { availability } of this.#all) {
      if (availability === 'yes') return 'yes';
      if (availability === 'wait') best = 'wait';
    }
    return best;
  }

  /** Whether a request may go to the URL now, where it may have so many on their way. */
  canTake(endpoint: Endpoint, maxInFlight: number): boolean {
    // Those of a URL that hangs while another one answers would otherwise gather without end.
    if (endpoint.inFlight >= maxInFlight) return false;
    return !this.#troubled || endpoint.availability === 'yes';
  }

  /** Without one, an attempt would be none. */
  someCanTake(maxInFlight: number): boolean {
    if (this.#reachability.isCutOff && !this.#mayTryAll()) return false;
    for (const endpoint of this.#all) if (this.canTake(endpoint, maxInFlight)) return true;
    return false;
  }

  /** One request to each URL that can take it now. `onSkipped` is told of the others. */
  send(
    job: Job,
    sender: Sender,
    maxInFlight: number,
    onSkipped: (endpoint: Endpoint) => void,
  ): void {
    const all = this.#all;
    job.endpoints = all;
    for (let index = 0; index < all.length; index++) {
      const endpoint = all[index];
      if (endpoint === undefined) continue;
      if (!this.canTake(endpoint, maxInFlight)) {
        job.outcome = worse(job.outcome, skipped);
        onSkipped(endpoint);
        continue;
      }
      job.pending += 1;
      endpoint.started(job);
      this.#reachability.tried(endpoint.prepared.provider);
      sender.send(job, endpoint.prepared, index);
    }
  }

  /** The one provider of all URLs; undefined if there are several, of which none is probed alone. */
  get provider(): string | undefined {
    const providers = new Set(this.#all.map(({ prepared }) => prepared.provider));
    const [provider] = providers;
    return providers.size === 1 ? provider : undefined;
  }

  /** How many take requests without reserve. */
  get closedCount(): number {
    return this.#all.filter(({ breaker }) => breaker?.closed !== false).length;
  }

  /** Since the last of the URLs went away: one that is there takes what the others do not. */
  get openForMs(): number {
    return Math.min(...this.#all.map(({ breaker }) => breaker?.openForMs ?? 0));
  }

  /** A URL that stays keeps its breaker; a new one starts with none. */
  update(prepared: PreparedDestination): void {
    const former = [...this.#all];
    const all = prepared.endpoints.map((endpoint) => {
      const index = former.findIndex((known) => known.prepared.url === endpoint.url);
      const kept = index < 0 ? undefined : former.splice(index, 1)[0];
      if (kept === undefined) return new Endpoint(endpoint, this.#options);
      kept.prepared = endpoint;
      return kept;
    });
    for (const endpoint of former) endpoint.close();
    if (!isSame(all, this.#all)) this.#all = all;
    this.#look();
  }

  dropIdleBreakers(nowMs: number): void {
    for (const endpoint of this.#all) endpoint.dropIdleBreaker(nowMs);
  }

  count(counts: Record<BreakerState, number>): void {
    for (const { breaker } of this.#all) if (breaker !== undefined) counts[breaker.state] += 1;
  }

  close(): void {
    for (const endpoint of this.#all) endpoint.close();
  }

  /** An event of several URLs is not sent to some of them because we cannot reach the others. */
  #mayTryAll(): boolean {
    return this.#all.every(({ prepared }) => this.#reachability.mayTry(prepared.provider));
  }

  #look(): void {
    this.#troubled = this.#all.some(({ breaker }) => breaker?.closed === false);
  }
}

function isSame(some: readonly Endpoint[], others: readonly Endpoint[]): boolean {
  return some.length === others.length && some.every((each, index) => each === others[index]);
}
