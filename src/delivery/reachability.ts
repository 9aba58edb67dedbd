import type { SteadyClock } from '../ops/clock.ts';
import type { Outcome, Retryable } from './outcome.ts';

/** Fewer providers than these may have failed each by itself. */
const fewestLost = 8;
/**
 * Share of the tried providers that may still be reachable, because some endpoints are on our side of the
 * outage.
 */
const mostReachedShare = 0.05;
/** Failures that are further apart have nothing to do with one another. */
const windowMs = 5_000;
/** A provider that was not reached for longer than this says nothing about our network. */
const knownMs = 3_600_000;
const purgeMs = 60_000;
/** The number of providers that are probed at a time, once a second: so many, and one more for each that was reached. */
const fewestProbes = 3;
/** Far more outages than fit into the longest retry window. */
const mostRemembered = 100;

/** Says that our own network fails: many providers were lost, and hardly any can be reached. */
export function looksCutOff(lost: number, reached: number): boolean {
  return lost >= fewestLost && reached <= mostReachedShare * (lost + reached);
}

export interface ReachabilityOptions {
  readonly clock: SteadyClock;
  /** This worker is cut off. `providers`: how many were lost; `detail`: the last failure. */
  readonly onCutOff: (providers: number, detail: string) => void;
  /** This worker is connected again. */
  readonly onReached: (afterMs: number) => void;
}

/** The providers that this worker's events go to. */
export interface Providers {
  used(): ReadonlySet<string>;
  /** The providers for which events wait. */
  waitingFor(): ReadonlySet<string>;
}

/** The last request, which did not reach its provider, by the steady clock. */
interface Failure {
  readonly startedMs: number;
  readonly endedMs: number;
  /** The failure in words, for people. */
  readonly detail: string;
  /** The proxy, through which all of them are reached, has failed. */
  readonly isByProxy?: true;
}

interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Distinguishes an outage of our own network from outages of endpoints. A provider is lost that was reached within the
 * last hour and is not reached now; one that was not reached for longer, or never, is no evidence. While this worker is
 * cut off, it sends a few probes to providers that it has not reached since, and everything to all others. Failures to
 * reach a provider then are not attempts, and the time does not count against endpoints.
 */
export class Reachability {
  readonly #options: ReachabilityOptions;
  /** The time when each provider was last reached, by the steady clock. */
  readonly #known = new Map<string, number>();
  #purgedMs = 0;
  /** Nobody has been reached yet. */
  #isNew = true;
  #firstTriedMs: number | undefined;
  /**
   * While this worker is connected: the providers that were lost lately. While it is cut off: all that it has not
   * reached since, the next to be probed first.
   */
  readonly #unreached = new Map<string, Failure>();
  /** While this worker is cut off: the providers that it has reached since. */
  readonly #reached = new Set<string>();
  readonly #probes = new Set<string>();
  #outages: Outage[] = [];
  /** Since when this worker has been cut off, in wall-clock time. */
  #sinceMs: number | undefined;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  get isCutOff(): boolean {
    return this.#sinceMs !== undefined;
  }

  /** Time since this worker was cut off, by the wall clock; 0 if it is not. */
  get forMs(): number {
    return this.#sinceMs === undefined ? 0 : this.#options.clock.now() - this.#sinceMs;
  }

  /** This worker is cut off, and from the provider too. */
  isUnreached(provider: string): boolean {
    return this.isCutOff && this.#unreached.has(provider);
  }

  /** One request may go to the provider although it is unreached. */
  isProbed(provider: string): boolean {
    return this.#probes.has(provider);
  }

  /** Must be called when a request goes out. */
  tried(provider: string): void {
    if (this.isCutOff) this.#probes.delete(provider);
  }

  /**
   * Must be called when a request ends.
   * @param startedMs when the request went out, by the steady clock
   * @returns what the outcome says about the endpoint, which is less while this worker is cut off
   */
  judge(provider: string, outcome: Outcome, startedMs: number): Outcome {
    this.#firstTriedMs ??= startedMs;
    if (outcome.kind === 'retryable') {
      // Our own shortage tells nothing of our network.
      if (outcome.cause === 'local') return outcome;
      if (outcome.cause === 'proxy') return this.#missedProxy(provider, outcome, startedMs);
    }
    const failure = this.#unreached.get(provider);
    if (failure?.isByProxy === true) {
      // What was on its way when the proxy failed may have ended with it.
      if (startedMs < failure.endedMs)
        return outcome.kind === 'retryable' && outcome.status === undefined
          ? cutOff(outcome)
          : outcome;
      // Whatever the endpoint did, the proxy works.
      this.#end();
    }
    if (outcome.kind === 'retryable') {
      // Outside an outage, and once the provider was reached in it, this is an endpoint that hangs.
      if (outcome.silent === true && (!this.isCutOff || this.#reached.has(provider)))
        return outcome;
      if (outcome.silent === true || outcome.unreached === true)
        return this.#missed(provider, outcome, startedMs);
    }
    this.#met(provider);
    return outcome;
  }

  /** Must be called about once a second. */
  tick(providers: Providers): void {
    const nowMs = this.#options.clock.steadyNow();
    // In an outage in which nobody is reached, nobody has an outage of their own.
    if (!this.isCutOff || this.#reached.size > 0) this.#purge(nowMs);
    if (!this.isCutOff) {
      for (const [provider, { endedMs }] of this.#unreached)
        if (endedMs < nowMs - windowMs) this.#unreached.delete(provider);
      this.#look();
      return;
    }
    this.#forgetAllBut(providers.used());
    if (this.#isOver) this.#end();
    else this.#chooseProbes(providers.waitingFor());
  }

  /** The time for which this worker has been cut off since `fromMs`, by the wall clock. */
  cutOffMs(fromMs: number): number {
    const toMs = this.#options.clock.now();
    const current = this.#sinceMs === undefined ? [] : [{ fromMs: this.#sinceMs, toMs }];
    let sumMs = 0;
    for (const outage of [...this.#outages, ...current])
      sumMs += Math.max(0, Math.min(toMs, outage.toMs) - Math.max(fromMs, outage.fromMs));
    return sumMs;
  }

  #met(provider: string): void {
    // What was never reached is no evidence any more.
    if (this.#isNew) this.#unreached.clear();
    this.#isNew = false;
    this.#known.set(provider, this.#options.clock.steadyNow());
    this.#unreached.delete(provider);
    if (!this.isCutOff || this.#reached.has(provider)) return;
    this.#reached.add(provider);
    if (this.#isOver) this.#end();
  }

  #missed(provider: string, outcome: Retryable, startedMs: number): Outcome {
    if (!this.isCutOff && !this.#isEvidence(provider)) return outcome;
    const isFirst = !this.#unreached.has(provider);
    const { detail } = outcome;
    const endedMs = this.#options.clock.steadyNow();
    this.#unreached.set(provider, { startedMs, endedMs, detail });
    this.#reached.delete(provider);
    if (isFirst && !this.isCutOff) this.#look();
    return this.isCutOff ? cutOff(outcome) : outcome;
  }

  /** A worker that has reached nobody yet knows of none that can be reached, and takes all as evidence. */
  #isEvidence(provider: string): boolean {
    return this.#isNew || this.#known.has(provider);
  }

  /** One failure says it all: that is no endpoint's, and others would fail alike. */
  #missedProxy(provider: string, outcome: Retryable, startedMs: number): Outcome {
    const { clock, onCutOff } = this.#options;
    const { detail } = outcome;
    this.#unreached.set(provider, {
      startedMs,
      endedMs: clock.steadyNow(),
      detail,
      isByProxy: true,
    });
    this.#reached.delete(provider);
    if (this.isCutOff) return outcome;
    this.#sinceMs = clock.now();
    onCutOff(1, detail);
    return outcome;
  }

  get #lost(): number {
    let lost = 0;
    for (const provider of this.#unreached.keys()) if (this.#isEvidence(provider)) lost += 1;
    return lost;
  }

  get #isOver(): boolean {
    for (const { isByProxy } of this.#unreached.values()) if (isByProxy === true) return false;
    return !looksCutOff(this.#lost, this.#reached.size);
  }

  /** Begins an outage if it looks like one. */
  #look(): void {
    if (this.#unreached.size < fewestLost) return;
    const { clock } = this.#options;
    let fromMs = clock.steadyNow();
    let lastDetail = '';
    // The first answers may take longer than the first refusals.
    if (this.#isNew && fromMs - (this.#firstTriedMs ?? fromMs) < windowMs) return;
    // A request that times out tells of the time when it began. Whoever was reached after that contradicts it.
    for (const { startedMs, detail } of this.#unreached.values()) {
      fromMs = Math.min(fromMs, startedMs);
      lastDetail = detail;
    }
    const reached = new Set<string>();
    for (const [provider, reachedMs] of this.#known) {
      if (reachedMs < fromMs || this.#unreached.has(provider)) continue;
      reached.add(provider);
      if (!looksCutOff(this.#unreached.size, reached.size)) return;
    }
    for (const provider of reached) this.#reached.add(provider);
    this.#sinceMs = clock.now();
    this.#options.onCutOff(this.#unreached.size, lastDetail);
  }

  #purge(nowMs: number): void {
    if (nowMs - this.#purgedMs < purgeMs) return;
    this.#purgedMs = nowMs;
    for (const [provider, reachedMs] of this.#known)
      if (reachedMs < nowMs - knownMs) this.#known.delete(provider);
  }

  /** Nobody would find out about a provider to which nothing is sent any more. */
  #forgetAllBut(used: ReadonlySet<string>): void {
    for (const provider of this.#unreached.keys())
      if (!used.has(provider)) this.#unreached.delete(provider);
  }

  #end(): void {
    const toMs = this.#options.clock.now();
    const fromMs = this.#sinceMs ?? toMs;
    this.#sinceMs = undefined;
    // Most others were reached, so those that were not may have an outage of their own.
    for (const provider of this.#unreached.keys()) this.#known.delete(provider);
    this.#unreached.clear();
    this.#reached.clear();
    this.#probes.clear();
    this.#outages = [...this.#outages, { fromMs, toMs }].slice(-mostRemembered);
    this.#options.onReached(toMs - fromMs);
  }

  /** Providers take turns: those that were probed last come last. */
  #chooseProbes(waiting: ReadonlySet<string>): void {
    this.#probes.clear();
    const most = fewestProbes + this.#reached.size;
    for (const provider of this.#unreached.keys()) {
      if (this.#probes.size === most) break;
      if (waiting.has(provider)) this.#probes.add(provider);
    }
    for (const provider of this.#probes) {
      const failure = this.#unreached.get(provider);
      if (failure === undefined) continue;
      this.#unreached.delete(provider);
      this.#unreached.set(provider, failure);
    }
  }
}

/** Not an attempt: it tells of this worker's network. */
function cutOff({ detail }: Retryable): Outcome {
  return { kind: 'retryable', cause: 'cut-off', detail, unreached: true };
}
