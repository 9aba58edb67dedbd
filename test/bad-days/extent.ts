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
  /** Longer than a member's session with its group, which is 10 s. */
  readonly hangMs: number;
  readonly awayMs: number;
  readonly leastCuts: number;
  /** A dead member's partitions wait for 10 s; else a router and a worker are killed at a time. */
  readonly killsOneByOne: boolean;
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
  callsPerSecond: whole ? 300 : 200,
  quietMs: whole ? 10_000 : 4_000,
  starvedMs: whole ? 25_000 : 10_000,
  hangMs: whole ? 40_000 : 12_000,
  awayMs: whole ? 15_000 : 8_000,
  leastCuts: whole ? 400 : 120,
  killsOneByOne: whole,
  noiseMs: whole ? 100 : 1_000,
  silenceNoiseMs: whole ? 100 : 2_000,
  eventsAtFullSpeed: whole ? 100_000 : 40_000,
  commitsWithinMs: whole ? 400 : 1_000,
};
