import type { BreakerState } from './breaker.ts';
import { Endpoint } from './endpoint.ts';
import type { Availability, EndpointOptions } from './endpoint.ts';
import type { DeliveryEvents } from '../events.ts';
import type { UrlValues } from '../../event/url-template.ts';
import { skipped, withoutUrl, worse, type Outcome } from '../outcome.ts';
import { pathTo, type PreparedDestination } from '../prepared-destination.ts';
import type { Reachability } from '../reachability.ts';
import type { Sender, Sending } from '../sender.ts';
import type { Login, LoginState } from '../token/tokens.ts';

export interface EndpointsOptions extends EndpointOptions {
  readonly reachability: Reachability;
  readonly sender: Sender;
  readonly events: DeliveryEvents;
}

/** A job or a batch, which goes out to the URLs. */
interface Outgoing extends Sending {
  readonly destinationId: string;
  readonly urlValues: UrlValues;
  endpoints: readonly Endpoint[];
  pending: number;
  outcome: Outcome | undefined;
}

/** The URLs of a lane's destination, as one: one URL that takes an event is enough. */
export class LaneEndpoints {
  readonly #options: EndpointOptions;
  readonly #reachability: Reachability;
  readonly #sender: Sender;
  readonly #events: DeliveryEvents;
  #all: readonly Endpoint[] = [];
  /** The providers of all URLs, each once. */
  #providers: readonly string[] = [];
  /** URLs that the destination had before, with requests in flight, which count if it gets them again. */
  #former: readonly Endpoint[] = [];
  #troubled = false;
  /** One for each URL that needs a token. */
  #logins: readonly Login[] = noLogins;

  /** `options.onChange` is called after the change shows here. */
  constructor(options: EndpointsOptions) {
    const { clock, random, reachability, sender, events, tokens, onChange, onLogin } = options;
    this.#reachability = reachability;
    this.#sender = sender;
    this.#events = events;
    this.#options = {
      clock,
      random,
      tokens,
      onLogin,
      onChange: (state) => {
        this.#look();
        onChange(state);
      },
    };
  }

  /** A list that is replaced, never changed, when the URLs change: a job keeps the list that it was sent to. */
  get all(): readonly Endpoint[] {
    return this.#all;
  }

  /** Some breaker is not closed. */
  get troubled(): boolean {
    return this.#troubled;
  }

  /** The availability of the best URL. */
  get availability(): Availability {
    if (!this.#troubled) return 'yes';
    let best: Availability = 'no';
    for (const { availability } of this.#all) {
      if (availability === 'yes') return 'yes';
      if (availability === 'wait') best = 'wait';
    }
    return best;
  }

  /**
   * The state of the tokens that the URLs need. `away`: no URL can be sent to, one of them for lack of a token. Where
   * another URL can be sent to, it takes the events; but a token that may come any moment is waited for.
   */
  get login(): LoginState {
    for (const { state } of this.#logins) if (state === 'awaited') return state;
    return this.isSomeTokenAway && !this.#isSomeThere ? 'away' : 'ready';
  }

  /** The authorization server of some URL gives no token for the moment. */
  get isSomeTokenAway(): boolean {
    for (const { state } of this.#logins) if (state === 'away') return true;
    return false;
  }

  /** A URL that lacks no token, and whose breaker lets requests through now or soon. */
  get #isSomeThere(): boolean {
    return this.#all.some((each) => isLoggedIn(each) && each.availability !== 'no');
  }

  /** Time for which the tries to get a token have failed. */
  get tokenlessMs(): number {
    let longestMs = 0;
    for (const { failingForMs } of this.#logins) longestMs = Math.max(longestMs, failingForMs);
    return longestMs;
  }

  /** Must be called while events wait, and before they are sent. */
  wantTokens(): void {
    for (const login of this.#logins) login.want();
  }

  /** A request may go to the URL now, with at most `maxInFlight` in flight to it. */
  canTake(endpoint: Endpoint, maxInFlight: number): boolean {
    // Requests to a URL that hangs would otherwise accumulate without end while another URL answers.
    if (endpoint.inFlight >= maxInFlight || !isLoggedIn(endpoint)) return false;
    return !this.#troubled || endpoint.availability === 'yes';
  }

  /** Some URL can take a request. Without one, a job would have no request to wait for. */
  someCanTake(maxInFlight: number): boolean {
    if (this.areUnreached && !this.#isProbed) return false;
    if (this.login !== 'ready') return false;
    for (const endpoint of this.#all) if (this.canTake(endpoint, maxInFlight)) return true;
    return false;
  }

  /** Sends one request to each URL that can take it now. */
  send(outgoing: Outgoing, maxInFlight: number): void {
    const all = this.#all;
    outgoing.endpoints = all;
    for (let index = 0; index < all.length; index++) {
      const endpoint = all[index];
      if (endpoint === undefined) continue;
      const path = pathTo(endpoint.prepared, outgoing.urlValues);
      if (typeof path !== 'string') {
        outgoing.outcome = worse(outgoing.outcome, withoutUrl(path.missing));
        continue;
      }
      if (!this.canTake(endpoint, maxInFlight)) {
        outgoing.outcome = worse(outgoing.outcome, skipped);
        // At least one URL takes the event, or it would not have had its turn.
        this.#events.urlSkipped(outgoing.destinationId, endpoint);
        continue;
      }
      outgoing.pending += 1;
      endpoint.started(outgoing);
      this.#reachability.tried(endpoint.prepared.provider);
      this.#sender.send(outgoing, endpoint.prepared, index, path);
    }
  }

  /**
   * The outcome of a request as it counts: what this worker's own network or a token has made of it is no attempt.
   * @param startedMs when the request was sent, by the steady clock
   */
  judge(endpoint: Endpoint, outcome: Outcome, startedMs: number): Outcome {
    const { provider } = endpoint.prepared;
    return endpoint.judge(this.#reachability.judge(provider, outcome, startedMs), startedMs);
  }

  get providers(): readonly string[] {
    return this.#providers;
  }

  /** This worker is cut off from some URL: an event with several URLs is sent to all of them or to none. */
  get areUnreached(): boolean {
    const { isCutOff } = this.#reachability;
    return isCutOff && this.#providers.some((provider) => this.#reachability.isUnreached(provider));
  }

  get haveBreakers(): boolean {
    for (const { breaker } of this.#all) if (breaker !== undefined) return true;
    return false;
  }

  /** The number of URLs with a closed breaker. */
  get closedCount(): number {
    return this.#all.filter(({ breaker }) => breaker?.closed !== false).length;
  }

  /** Time for which no URL has been available: an available one takes what the others do not. */
  get openForMs(): number {
    return Math.min(...this.#all.map(({ breaker }) => breaker?.openForMs ?? 0));
  }

  /** No request is in flight to any of them. */
  get areIdle(): boolean {
    return [...this.#all, ...this.#former].every(({ inFlight }) => inFlight === 0);
  }

  /** A URL that stays keeps its breaker. A new one starts with none. */
  update(prepared: PreparedDestination): void {
    const former = [...this.#all, ...this.#former];
    const all = prepared.endpoints.map((endpoint) => {
      const index = former.findIndex((known) => known.prepared.url === endpoint.url);
      const kept = index < 0 ? undefined : former.splice(index, 1)[0];
      if (kept === undefined) return new Endpoint(endpoint, this.#options);
      kept.use(endpoint);
      return kept;
    });
    for (const endpoint of former) endpoint.close();
    this.#former = former.filter(({ inFlight }) => inFlight > 0);
    if (!isSame(all, this.#all)) this.#all = all;
    const logins = all.flatMap(({ login }) => login ?? []);
    this.#logins = logins.length === 0 ? noLogins : logins;
    this.#providers = [...new Set(all.map(({ prepared }) => prepared.provider))];
    this.#look();
  }

  /** Must be called once in `bucketMs`. */
  tick(nowMs: number): void {
    for (const endpoint of this.#all) endpoint.tick(nowMs);
  }

  /** Each that is away is tried with the next event. */
  probeNow(): void {
    for (const { breaker } of this.#all) breaker?.probeNow();
    for (const login of this.#logins) login.tryNow();
  }

  count(counts: Record<BreakerState, number>): void {
    for (const { breaker } of this.#all) if (breaker !== undefined) counts[breaker.state] += 1;
  }

  close(): void {
    for (const endpoint of this.#all) endpoint.close();
  }

  get #isProbed(): boolean {
    return this.#providers.some((provider) => this.#reachability.isProbed(provider));
  }

  #look(): void {
    this.#troubled = this.#all.some(({ breaker }) => breaker?.closed === false);
  }
}

const noLogins: readonly Login[] = [];

function isLoggedIn({ login }: Endpoint): boolean {
  return login === undefined || login.state === 'ready';
}

function isSame(some: readonly Endpoint[], others: readonly Endpoint[]): boolean {
  return some.length === others.length && some.every((each, index) => each === others[index]);
}
