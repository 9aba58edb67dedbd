import { diceOf } from './dice.ts';
import type { Burst, DestinationPlan, Scenario, Trouble } from './scenario.ts';

const secondMs = 1_000;
/** More than the window of a partition holds, fresh or come back. */
const calls = [2_000, 6_000] as const;

/**
 * Many events at once, for destinations with rate limits that need minutes for them. Beside them stand one that is
 * well, and one that fails for a short time: its events come back when the limited ones do.
 */
export function makeCrowd(random: () => number, scenario: Scenario): Scenario {
  const { whole, oneOf, chance } = diceOf(random);
  const atMs = whole(0, 60) * secondMs;
  const burst: Burst = { atMs, calls: whole(...calls), perSecond: oneOf([100, 500, 1_000]) };
  const trickle: Burst = { atMs, calls: 300, perSecond: 1 };
  const failsFromMs = atMs + oneOf([0, whole(0, 120) * secondMs]);
  const trouble: Trouble = {
    kind: oneOf(['answers 503', 'refuses connections', 'hangs', 'answers 429']),
    fromMs: failsFromMs,
    untilMs: failsFromMs + whole(2, 40) * secondMs,
  };
  const destination = (
    id: string,
    rateLimit: number | undefined,
    troubles: readonly Trouble[],
  ): DestinationPlan => ({
    id,
    urls: [
      {
        url: `https://${id}.example/0`,
        latencyMs: [5, 40],
        capacity: 1_000,
        troubles,
        goneFromMs: undefined,
      },
    ],
    maxInFlight: undefined,
    rateLimit,
  });
  const limited = Array.from({ length: whole(1, 3) }, (_, index) =>
    destination(`d${index}`, oneOf([5, 10, 20]), []),
  );
  const well = destination(`d${limited.length}`, undefined, []);
  const recovers = destination(`d${limited.length + 1}`, undefined, [trouble]);
  return {
    ...scenario,
    partitions: oneOf([1, 1, 2]),
    maxInFlight: 1_024,
    users: oneOf([100, 100_000]),
    destinations: [...limited, well, recovers],
    bursts: [burst, trickle],
    // Where everything else is well, what is due must be tried in time.
    faults: chance(0.5) ? [] : scenario.faults.filter((fault) => !('destination' in fault)),
  };
}
