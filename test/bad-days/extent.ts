/**
 * `BAD_DAYS=whole`: faults as long as they are in life, and a machine of their own. Without it they are
 * long enough for brokers and groups to notice, and other tests run at the same time.
 */
const whole = process.env['BAD_DAYS'] === 'whole';

interface Extent {
  readonly partitions: number;
  readonly callsPerSecond: number;
  readonly quietMs: number;
  readonly starvedMs: number;
  readonly leastCuts: number;
  /** What other tests on the machine may add to a latency. */
  readonly noiseMs: number;
  /** And to a silence, the longest of many. */
  readonly silenceNoiseMs: number;
  readonly eventsAtFullSpeed: number;
  /** A fifth of a second, and what a machine that others use too may add. */
  readonly commitsWithinMs: number;
}

export const extent: Extent = {
  partitions: whole ? 12 : 6,
  callsPerSecond: whole ? 300 : 60,
  quietMs: whole ? 10_000 : 3_000,
  starvedMs: whole ? 25_000 : 6_000,
  leastCuts: whole ? 400 : 40,
  noiseMs: whole ? 100 : 1_000,
  silenceNoiseMs: whole ? 100 : 2_000,
  eventsAtFullSpeed: whole ? 100_000 : 24_000,
  commitsWithinMs: whole ? 400 : 1_000,
};
