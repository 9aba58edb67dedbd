/**
 * How far this process's clock is off Kafka's, as far as answers prove it: a broker appends a record after it
 * was sent, and before the answer comes.
 */
export class ClockOffset {
  /** Positive: this process is ahead. 0 while nothing proves that the clocks differ. */
  aheadMs = 0;

  /** @param appendedMs by the broker's clock; the others by that of this process */
  answered(appendedMs: number, sentMs: number, answeredMs: number): void {
    const leastAheadMs = sentMs - appendedMs;
    const mostAheadMs = answeredMs - appendedMs;
    this.aheadMs = leastAheadMs > 0 ? leastAheadMs : Math.min(mostAheadMs, 0);
  }
}
