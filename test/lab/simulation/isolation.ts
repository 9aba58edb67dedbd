import { seededRandom } from '../../delivery/simulated-clock.ts';
import { diceOf } from './dice.ts';
import type { Fault, Scenario } from './scenario.ts';

const secondMs = 1_000;
const isolatedShare = 1 / 8;

/**
 * A broker is isolated while more calls wait than a destination takes, and users are deleted who have made some: what
 * waits must not be sent, whoever tells a worker meanwhile that nobody was deleted.
 */
export function withIsolation(scenario: Scenario): Scenario {
  const { seed, nodes, workers, bursts, faults, destinations, troubledMs } = scenario;
  // Of its own chance, so that all else stays as it is.
  const random = seededRandom(seed * 32_452_843 + 5);
  if (random() >= isolatedShare) return scenario;
  const { whole, chance } = diceOf(random);
  const forMs = whole(20, 90) * secondMs;
  const withRack = chance(0.5);
  // What is to wait has been read before.
  const afterMs = whole(3, 8) * secondMs;
  const calls = { calls: whole(20, 60), perSecond: 20 };
  const near = bursts[whole(0, bursts.length - 1)]?.atMs ?? 0;
  const atMs = Math.min(near + afterMs, troubledMs - forMs);
  const deletions = Array.from({ length: whole(1, 3) }, (): Fault => ({
    atMs: atMs + Math.floor((forMs * random()) / 2),
    kind: 'delete user',
    user: Math.floor(3 * random() ** 3),
  }));
  const hasRacks = chance(0.5);
  // With racks, one that has a worker near it.
  const nearest = hasRacks ? workers : nodes;
  const [first, ...others] = destinations;
  return {
    ...scenario,
    hasRacks,
    destinations:
      first === undefined ? others : [{ ...first, rateLimit: whole(1, 2) / 2 }, ...others],
    bursts: [...bursts, { atMs: atMs - afterMs, ...calls }],
    faults: [
      ...faults,
      {
        atMs,
        kind: 'broker',
        node: whole(1, nearest),
        state: 'isolated',
        forMs,
        withRack,
      } as const,
      ...deletions,
    ].toSorted((a, b) => a.atMs - b.atMs),
  };
}
