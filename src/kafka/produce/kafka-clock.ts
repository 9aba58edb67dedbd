import type { SteadyClock } from '../../ops/clock.ts';

/**
 * Kafka's clock, as its answers to the producer tell it. Whatever is compared with times that Kafka or other
 * processes have said goes by this clock: one that is ahead would make each of them long ago.
 */
export function asKafka(
  clock: SteadyClock,
  producer: { readonly clockAheadMs: number },
): SteadyClock {
  return {
    now: () => clock.now() - producer.clockAheadMs,
    steadyNow: () => clock.steadyNow(),
    after: (delayMs, callback) => clock.after(delayMs, callback),
  };
}

/**
 * By how much this process's clock is ahead of a broker's at least: the broker appended a record after it was sent,
 * and before the answer came. Negative: behind; 0: nothing proves that they differ.
 * @param appendedMs by the broker's clock; the others by that of this process
 */
export function provenAheadMs(appendedMs: number, sentMs: number, answeredMs: number): number {
  const leastAheadMs = sentMs - appendedMs;
  const mostAheadMs = answeredMs - appendedMs;
  return leastAheadMs > 0 ? leastAheadMs : Math.min(mostAheadMs, 0);
}

/** A broker's last answer is a proof for so long: its clock, or that of this machine, may have been set. */
const provenForMs = 60_000;

interface Proof {
  readonly aheadMs: number;
  readonly atMs: number;
}

/** Compares this process's clock with those of the brokers, as their answers prove them. */
export class BrokerClocks {
  /**
   * By how much this process's clock is ahead of Kafka's; negative: behind. It is the median of the brokers, because
   * one of them may have a wrong clock. Where they are an even number, the clock of this process is one of those
   * that are compared.
   */
  aheadMs = 0;
  readonly #proofs = new Map<number, Proof>();

  /** @param nowMs when the answer came, by this process's clock */
  answered(nodeId: number, aheadMs: number, nowMs: number): void {
    for (const [id, { atMs }] of this.#proofs)
      if (Math.abs(nowMs - atMs) > provenForMs) this.#proofs.delete(id);
    this.#proofs.set(nodeId, { aheadMs, atMs: nowMs });
    const known = Array.from(this.#proofs.values(), (proof) => proof.aheadMs);
    if (known.length % 2 === 0) known.push(0);
    this.aheadMs = known.sort((a, b) => a - b)[Math.floor(known.length / 2)] ?? 0;
  }
}
