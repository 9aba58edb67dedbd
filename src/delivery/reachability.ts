import type { SteadyClock } from '../ops/clock.ts';
import type { Outcome } from './outcome.ts';

/** Fewer providers that cannot be reached may have failed by themselves. */
const fewestUnreached = 8;
/** Of all providers that were tried, so many may be reached all the same: some endpoints are on our side. */
const mostReachedShare = 0.05;
/** What is older says nothing of now. */
const windowMs = 5_000;
/** Of the providers at a time, once a second. */
const probesAtOnce = 3;
/** Far more than there are in the longest retry window. */
const mostRemembered = 100;

/** Whether it is our own network that fails: nearly all of many providers cannot be reached. */
export function looksCutOff(unreached: number, reached: number): boolean {
  return unreached >= fewestUnreached && reached <= mostReachedShare * (unreached + reached);
}

export interface ReachabilityOptions {
  readonly clock: SteadyClock;
  /** This worker is cut off; so many providers could not be reached, the last one for that reason. */
  readonly onCutOff: (providers: number, detail: string) => void;
  /** It no longer is. */
  readonly onReached: (afterMs: number) => void;
}

interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Tells an outage of our own from those of endpoints. While this worker is cut off, only providers that were
 * reached since are sent to, and a few probes to the others. What could not be reached meanwhile was no
 * attempt, and the time is not the endpoint's.
 */
export class Reachability {
  readonly #options: ReachabilityOptions;
  /** When each provider was last reached, and not reached, by the steady clock; each is in one of them. */
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

  /** A request goes out. */
  tried(provider: string): void {
    if (this.isCutOff) this.#probes.delete(provider);
  }

  /** A request has ended. What it says of its endpoint: less, while we are cut off. */
  judge(provider: string, outcome: Outcome): Outcome {
    if (outcome.kind !== 'retryable' || outcome.unreached !== true) {
      // Nobody could not be reached lately: nothing is to be found out.
      if (this.#unreachedMs.size > 0) this.#reached(provider);
      return outcome;
    }
    this.#reachedMs.delete(provider);
    this.#unreachedMs.set(provider, this.#options.clock.steadyNow());
    if (!this.isCutOff && looksCutOff(this.#unreachedMs.size, this.#reachedMs.size))
      this.#begin(outcome.detail);
    return this.isCutOff
      ? { kind: 'retryable', cause: 'cut-off', detail: outcome.detail, unreached: true }
      : outcome;
  }

  /** About once a second. `waiting`: the providers for which something waits. */
  tick(waiting: () => ReadonlySet<string>): void {
    if (this.isCutOff) {
      this.#chooseProbes(waiting());
      return;
    }
    const fromMs = this.#options.clock.steadyNow() - windowMs;
    for (const seenMs of [this.#reachedMs, this.#unreachedMs])
      for (const [provider, atMs] of seenMs) if (atMs < fromMs) seenMs.delete(provider);
  }

  /** How long this worker has been cut off since that time, in wall-clock time. */
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
    const unreached = Math.max(fewestUnreached, this.#unreachedMs.size);
    if (this.isCutOff && !looksCutOff(unreached, this.#reachedMs.size)) this.#end();
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

  /** In turn: those that were tried last come last. */
  #chooseProbes(waiting: ReadonlySet<string>): void {
    this.#probes.clear();
    const last = new Set(this.#lastProbed);
    const candidates = [...waiting].filter((provider) => !this.#reachedMs.has(provider));
    const fresh = candidates.filter((provider) => !last.has(provider));
    const chosen = (fresh.length > 0 ? fresh : candidates).slice(0, probesAtOnce);
    for (const provider of chosen) this.#probes.add(provider);
    this.#lastProbed = fresh.length > 0 ? [...this.#lastProbed, ...chosen] : chosen;
  }
}
