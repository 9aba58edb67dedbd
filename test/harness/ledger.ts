/** The accounts of a load: what was accepted, and what became of it. Times in ms of one clock. */

export interface Call {
  readonly id: string;
  readonly user: string;
  /** Undefined: the gateway has not said that it has it. It may be delivered all the same. */
  acceptedMs: number | undefined;
  /** Each time that the endpoint took it, in order. */
  readonly deliveredMs: number[];
}

export class Ledger {
  readonly #calls = new Map<string, Call>();
  #turnedAway = 0;

  get calls(): readonly Call[] {
    return [...this.#calls.values()];
  }

  /** How many calls the gateway did not accept. */
  get turnedAway(): number {
    return this.#turnedAway;
  }

  sent(id: string, user: string): void {
    this.#calls.set(id, { id, user, acceptedMs: undefined, deliveredMs: [] });
  }

  accepted(ids: readonly string[], atMs: number): void {
    for (const id of ids) {
      const call = this.#calls.get(id);
      if (call !== undefined) call.acceptedMs = atMs;
    }
  }

  refused(ids: readonly string[]): void {
    this.#turnedAway += ids.length;
  }

  /** Ids of other ledgers are none of its business. */
  delivered(id: string, atMs: number): void {
    this.#calls.get(id)?.deliveredMs.push(atMs);
  }

  /** What was accepted and has not arrived. */
  waiting(): readonly Call[] {
    return this.calls.filter((call) => isAccepted(call) && call.deliveredMs.length === 0);
  }
}

export interface Figures {
  readonly accepted: number;
  /** Of the accepted ones. */
  readonly delivered: number;
  readonly lost: number;
  /** Calls that were delivered more than once, accepted or not. */
  readonly repeated: number;
  /** Deliveries beyond the first of each. */
  readonly extra: number;
  /** The longest time in which something accepted waited and nothing was delivered. */
  readonly longestSilenceMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export function figuresOf(calls: readonly Call[]): Figures {
  const accepted = calls.filter(isAccepted);
  const delivered = accepted.filter(({ deliveredMs }) => deliveredMs.length > 0);
  const repeated = calls.filter(({ deliveredMs }) => deliveredMs.length > 1);
  const latencies = delivered.map(latencyMs).sort((a, b) => a - b);
  return {
    accepted: accepted.length,
    delivered: delivered.length,
    lost: accepted.length - delivered.length,
    repeated: repeated.length,
    extra: repeated.reduce((sum, { deliveredMs }) => sum + deliveredMs.length - 1, 0),
    longestSilenceMs: longestSilenceMs(calls),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
}

/**
 * The longest time in which at least one of the calls, accepted, waited for its delivery and none of them
 * was delivered. Time in which there was nothing to deliver is no silence.
 */
export function longestSilenceMs(calls: readonly Call[]): number {
  const arrivals = calls.flatMap(({ deliveredMs }) => deliveredMs).sort((a, b) => a - b);
  const delivered = calls
    .filter((call) => isAccepted(call) && call.deliveredMs.length > 0)
    .sort((a, b) => firstDelivery(b) - firstDelivery(a));
  let longestMs = 0;
  let next = 0;
  let waitsSinceMs = Infinity;
  // From the last arrival to the first, so that every call that waited for a later one is known.
  for (let i = arrivals.length - 1; i >= 0; i -= 1) {
    const endMs = arrivals[i] ?? 0;
    for (let call = delivered[next]; call !== undefined; call = delivered[next]) {
      if (firstDelivery(call) < endMs) break;
      waitsSinceMs = Math.min(waitsSinceMs, call.acceptedMs ?? Infinity);
      next += 1;
    }
    longestMs = Math.max(longestMs, endMs - Math.max(arrivals[i - 1] ?? -Infinity, waitsSinceMs));
  }
  return longestMs;
}

/**
 * The same calls by a clock that stands still once nothing was accepted for `longMs`, until something is:
 * what keeps the gateway from accepting is wrong with the machine or with Kafka.
 */
export function whileAccepting(calls: readonly Call[], longMs: number): readonly Call[] {
  const accepted = calls.flatMap(({ acceptedMs = [] }) => acceptedMs).sort((a, b) => a - b);
  const standstills = accepted.flatMap((endMs, i) => {
    const fromMs = (accepted[i - 1] ?? endMs) + longMs;
    return fromMs < endMs ? [{ fromMs, endMs }] : [];
  });
  const timeOf = (ms: number): number =>
    standstills.reduce(
      (left, { fromMs, endMs }) => left - Math.max(0, Math.min(ms, endMs) - fromMs),
      ms,
    );
  return calls.map((call) => ({
    ...call,
    acceptedMs: call.acceptedMs === undefined ? undefined : timeOf(call.acceptedMs),
    deliveredMs: call.deliveredMs.map(timeOf),
  }));
}

export function between(calls: readonly Call[], fromMs: number, toMs: number): readonly Call[] {
  return calls.filter(({ acceptedMs = -1 }) => acceptedMs >= fromMs && acceptedMs < toMs);
}

export function percentileOf(calls: readonly Call[], share: number): number {
  const delivered = calls.filter((call) => isAccepted(call) && call.deliveredMs.length > 0);
  return quantile(
    delivered.map(latencyMs).sort((a, b) => a - b),
    share,
  );
}

function isAccepted({ acceptedMs }: Call): boolean {
  return acceptedMs !== undefined;
}

function firstDelivery({ deliveredMs }: Call): number {
  return deliveredMs[0] ?? Infinity;
}

/** An event may be there before the answer to its call is. */
function latencyMs(call: Call): number {
  return Math.max(0, firstDelivery(call) - (call.acceptedMs ?? 0));
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
