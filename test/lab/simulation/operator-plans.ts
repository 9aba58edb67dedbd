import { seededRandom } from '../../delivery/simulated-clock.ts';
import { diceOf } from './dice.ts';
import type { Burst, Cut, Fault, Scenario, Trouble } from './scenario.ts';

const secondMs = 1_000;
const operatedShare = 1 / 10;

/**
 * Operators pause destinations, resume them, retry what waits, and send dead letters again, near calls and near what goes wrong. One
 * destination refuses calls for a while, so that there are letters. Some runs of the commands are cut.
 */
export function withOperators(scenario: Scenario): Scenario {
  const { seed, workers, destinations, bursts, faults, troubledMs } = scenario;
  // Of its own chance, so that all else stays as it is.
  const random = seededRandom(seed * 49_979_687 + 11);
  if (random() >= operatedShare) return scenario;
  const { whole, oneOf, chance } = diceOf(random);
  const nearMs = oneOf(bursts).atMs;
  const at = (leastMs: number, mostMs: number): number => {
    const near = faults.length > 0 && chance(0.3) ? oneOf(faults).atMs : nearMs;
    return Math.min(Math.max(0, near + whole(leastMs, mostMs)), troubledMs);
  };
  // Most commands take a few seconds.
  const cut = (): Cut => ({
    afterMs: Math.floor(random() ** 2 * 20 * secondMs),
    how: oneOf(['kill', 'kill', 'stop', 'suspend', 'cut off']),
    forMs: whole(1, 40) * secondMs,
  });
  const common = (): { readonly perSecond: number; readonly cuts: readonly Cut[] } => ({
    perSecond: oneOf([5, 20, 100, 1_000]),
    cuts: Array.from({ length: oneOf([0, 0, 1, 2, 3]) }, cut),
  });
  const anyDestination = (): number => whole(0, destinations.length - 1);
  const refuses = anyDestination();
  const fromMs = Math.max(0, nearMs - whole(0, 5) * secondMs);
  const trouble: Trouble = {
    kind: 'answers 422',
    fromMs,
    untilMs: fromMs + whole(5, 180) * secondMs,
  };
  const pauses = Array.from({ length: whole(1, 3) }, () => ({
    atMs: at(-10 * secondMs, 60 * secondMs),
    kind: 'pause' as const,
    destination: chance(0.5) ? refuses : anyDestination(),
    forMs: oneOf([whole(1, 20), whole(20, 300)]) * secondMs,
    endsAll: chance(0.3),
    ...common(),
  }));
  // Calls go on while a destination is resumed, and some workers hear of it late.
  const resumesMs = pauses.map(({ atMs, forMs }) => Math.min(atMs + forMs, troubledMs));
  const callsThen = resumesMs.map((atMs): Burst => ({
    atMs: Math.max(0, atMs - secondMs),
    calls: whole(10, 60),
    perSecond: oneOf([5, 20]),
  }));
  const late = resumesMs
    .filter(() => chance(0.5))
    .map((resumedMs): Fault => ({
      atMs: Math.max(0, resumedMs - whole(0, 500)),
      kind: 'suspend',
      role: 'worker',
      index: whole(0, workers - 1),
      // What it knew of pauses is believed for two seconds.
      forMs: oneOf([whole(500, 1_900), whole(500, 1_900), whole(2, 20) * secondMs]),
    }));
  const during = ({ atMs, forMs }: (typeof pauses)[number]): number =>
    Math.min(atMs + whole(0, forMs), troubledMs);
  const redrives = Array.from({ length: whole(1, 3) }, (): Fault => ({
    atMs: chance(0.4) ? during(oneOf(pauses)) : at(10 * secondMs, 240 * secondMs),
    kind: 'redrive',
    destination: oneOf([-1, refuses]),
    ...common(),
  }));
  const retries = Array.from({ length: whole(1, 4) }, (): Fault => ({
    atMs: at(20 * secondMs, 900 * secondMs),
    kind: 'retry',
    destination: anyDestination(),
    ...(chance(0.2) ? { cut: cut() } : {}),
  }));
  return {
    ...scenario,
    destinations: destinations.map((each, index) => {
      const [first, ...others] = each.urls;
      if (index !== refuses || first === undefined) return each;
      return { ...each, urls: [{ ...first, troubles: [trouble, ...first.troubles] }, ...others] };
    }),
    bursts: [...bursts, ...callsThen],
    faults: [...faults, ...pauses, ...late, ...redrives, ...retries].toSorted(
      (a, b) => a.atMs - b.atMs,
    ),
  };
}
