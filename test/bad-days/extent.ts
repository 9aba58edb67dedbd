/**
 * `BAD_DAYS=whole`: faults as long as they are in life, and a machine of their own. Without it they are
 * long enough for brokers and groups to notice, and other tests run at the same time.
 */
const whole = process.env['BAD_DAYS'] === 'whole';
const callsPerSecond = whole ? 300 : 60;

interface Extent {
  readonly partitions: number;
  readonly callsPerSecond: number;
  readonly quietMs: number;
  readonly starvedMs: number;
  /** One after the other. */
  readonly killedBrokers: readonly number[];
  /** None, but on a machine that others use too a session of ten seconds may end, and with it what it had in hand. */
  readonly mostRepeated: number;
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
  callsPerSecond,
  quietMs: whole ? 10_000 : 3_000,
  starvedMs: whole ? 25_000 : 6_000,
  killedBrokers: whole ? [1, 2, 3] : [1],
  mostRepeated: whole ? 0 : 10 * callsPerSecond,
  leastCuts: whole ? 400 : 40,
  noiseMs: whole ? 100 : 1_000,
  silenceNoiseMs: whole ? 100 : 2_000,
  eventsAtFullSpeed: whole ? 100_000 : 24_000,
  commitsWithinMs: whole ? 400 : 1_000,
};
