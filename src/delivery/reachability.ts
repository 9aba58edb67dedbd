import type { SteadyClock } from '../ops/clock.ts';
import type { Outcome, Retryable } from './outcome.ts';

/** With fewer unreachable providers, each may have failed by itself. */
const fewestUnreached = 8;
/**
 * Share of the tried providers that may still be reachable, because some endpoints are on our side of the
 * outage.
 */
const mostReachedShare = 0.05;
/** Older results are not evidence for the present. */
const windowMs = 5_000;
/** For how many destinations providers are probed at a time, once a second. */
const probesAtOnce = 3;
/** Far more outages than fit into the longest retry window. */
const mostRemembered = 100;

/** Whether our own network fails: of many providers, hardly any can be reached. */
export function looksCutOff(unreached: number, reached: number): boolean {
  return unreached >= fewestUnreached && reached <= mostReachedShare * (unreached + reached);
}

export interface ReachabilityOptions {
  readonly clock: SteadyClock;
  /** This worker is cut off. `providers`: how many could not be reached; `detail`: the last failure. */
  readonly onCutOff: (providers: number, detail: string) => void;
  /** This worker is connected again. */
  readonly onReached: (afterMs: number) => void;
}

/** By name: the providers that the events of some destination go to, all of them or none. */
export type ProviderGroups = ReadonlyMap<string, readonly string[]>;

/** To whom this worker's events go. */
export interface Providers {
  used(): ReadonlySet<string>;
  /** Those for which events wait. */
  waitingFor(): ProviderGroups;
}

interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Distinguishes an outage of our own network from outages of endpoints. While this worker is cut off, it
 * sends only to providers that it has reached since, and a few probes to others. Failures to reach a provider
 * then are not attempts, and the time does not count against endpoints.
 */
export class Reachability {
  readonly #options: ReachabilityOptions;
  /**
   * When each provider was last reached, and last not reached, by the steady clock. Each provider is in one
   * of the maps.
   */
  readonly #reachedMs = new Map<string, number>();
  readonly #unreachedMs = new Map<string, number>();
  readonly #probes = new Set<string>();
  #lastProbed: readonly string[] = [];
  #outages: Outage[] = [];
  /** Since when this worker has been cut off, in wall-clock time. */
  #sinceMs: number | undefined;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  get isCutOff(): boolean {
    return this.#sinceMs !== undefined;
  }

  mayTry(provider: string): boolean {
    return !this.isCutOff || this.#reachedMs.has(provider) || this.#probes.has(provider);
  }

  /** To be called when a request goes out. */
  tried(provider: string): void {
    if (this.isCutOff) this.#probes.delete(provider);
  }

  /**
   * To be called when a request ends. Returns what the outcome says about the endpoint, which is less while
   * this worker is cut off.
   */
  judge(provider: string, outcome: Outcome): Outcome {
    if (outcome.kind === 'retryable' && outcome.silent === true)
      return this.isCutOff && !this.#reachedMs.has(provider) ? cutOff(outcome) : outcome;
    if (outcome.kind !== 'retryable' || outcome.unreached !== true) {
      // Every provider was reachable lately, so there is nothing to find out.
      if (this.#unreachedMs.size > 0) this.#reached(provider);
      return outcome;
    }
    this.#reachedMs.delete(provider);
    this.#unreachedMs.set(provider, this.#options.clock.steadyNow());
    if (!this.isCutOff && looksCutOff(this.#unreachedMs.size, this.#reachedMs.size))
      this.#begin(outcome.detail);
    return this.isCutOff ? cutOff(outcome) : outcome;
  }

  /** To be called about once a second. */
  tick(providers: Providers): void {
    if (this.isCutOff) {
      this.#forgetAllBut(providers.used());
      if (this.#isReached) this.#end();
      else this.#chooseProbes(providers.waitingFor());
      return;
    }
    const fromMs = this.#options.clock.steadyNow() - windowMs;
    for (const seenMs of [this.#reachedMs, this.#unreachedMs])
      for (const [provider, atMs] of seenMs) if (atMs < fromMs) seenMs.delete(provider);
  }

  /** How long this worker has been cut off since `fromMs`, in wall-clock time. */
  cutOffMs(fromMs: number): number {
    const toMs = this.#options.clock.now();
    const current = this.#sinceMs === undefined ? [] : [{ fromMs: this.#sinceMs, toMs }];
    let sumMs = 0;
    for (const outage of [...this.#outages, ...current])
      sumMs += Math.max(0, Math.min(toMs, outage.toMs) - Math.max(fromMs, outage.fromMs));
    return sumMs;
  }

  #reached(provider: string): void {
    this.#unreachedMs.delete(provider);
    this.#reachedMs.set(provider, this.#options.clock.steadyNow());
    if (this.isCutOff && this.#isReached) this.#end();
  }

  /** Nobody would find out about a provider to which nothing is sent any more. */
  #forgetAllBut(used: ReadonlySet<string>): void {
    for (const provider of this.#unreachedMs.keys())
      if (!used.has(provider)) this.#unreachedMs.delete(provider);
  }

  /** That few are left unreached is no sign that they can be reached. */
  get #isReached(): boolean {
    const unreached = Math.max(fewestUnreached, this.#unreachedMs.size);
    return !looksCutOff(unreached, this.#reachedMs.size);
  }

  #begin(detail: string): void {
    this.#sinceMs = this.#options.clock.now();
    this.#options.onCutOff(this.#unreachedMs.size, detail);
  }

  #end(): void {
    const { clock } = this.#options;
    const fromMs = this.#sinceMs ?? clock.now();
    const toMs = clock.now();
    this.#sinceMs = undefined;
    this.#probes.clear();
    this.#unreachedMs.clear();
    this.#outages = [...this.#outages, { fromMs, toMs }].slice(-mostRemembered);
    this.#options.onReached(toMs - fromMs);
  }

  /** Groups take turns: those that were probed last come last. */
  #chooseProbes(groups: ProviderGroups): void {
    this.#probes.clear();
    const last = new Set(this.#lastProbed);
    const candidates = [...groups].filter(([, providers]) =>
      providers.some((provider) => !this.#reachedMs.has(provider)),
    );
    const fresh = candidates.filter(([name]) => !last.has(name));
    const chosen = (fresh.length > 0 ? fresh : candidates).slice(0, probesAtOnce);
    for (const [, providers] of chosen)
      for (const provider of providers) this.#probes.add(provider);
    const names = chosen.map(([name]) => name);
    this.#lastProbed = fresh.length > 0 ? [...this.#lastProbed, ...names] : names;
  }
}

/** Not an attempt: it tells of this worker's network. */
function cutOff({ detail }: Retryable): Outcome {
  return { kind: 'retryable', cause: 'cut-off', detail, unreached: true };
}
