import { diceOf } from './dice.ts';
import type { Burst, DestinationPlan, EndpointPlan, Scenario } from './scenario.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

/**
 * Customers who have been gone for long, each with a domain of their own, beside healthy ones on few platforms. Calls come
 * quickly by day, and once a minute or so at night.
 */
export function makeOrdinaryDay(random: () => number, scenario: Scenario): Scenario {
  const { whole, oneOf, chance } = diceOf(random);
  const platforms = whole(1, 3);
  const endpoint = (url: string, gone: Partial<EndpointPlan>): EndpointPlan => ({
    url,
    latencyMs: [5, 40],
    capacity: 1_000,
    troubles: [],
    goneFromMs: undefined,
    ...gone,
  });
  const destination = (id: string, ...urls: readonly EndpointPlan[]): DestinationPlan => ({
    id,
    urls,
    maxInFlight: undefined,
    rateLimit: undefined,
  });
  const dead = Array.from({ length: whole(8, 16) }, (_, index) => {
    const gone = oneOf(['refuses connections', 'drops packets', 'has no name'] as const);
    const id = `dead${index}`;
    return destination(id, endpoint(`https://${id}.example/0`, { goneFromMs: 0, gone }));
  });
  const well = Array.from({ length: whole(2, 6) }, (_, index) => {
    const id = `well${index}`;
    return destination(id, endpoint(`https://${id}.platform${index % platforms}.example/0`, {}));
  });
  const night: Burst = { atMs: 0, calls: whole(10, 20), perSecond: 1 / whole(30, 120) };
  const day: Burst = {
    atMs: whole(0, 10) * minuteMs,
    calls: whole(20, 60),
    perSecond: whole(1, 4),
  };
  return {
    ...scenario,
    partitions: oneOf([1, 2, 4]),
    maxInFlight: 1_024,
    destinations: [...dead, ...well],
    bursts: chance(0.5) ? [night] : [night, day],
    faults: [],
    troubledMs: 40 * minuteMs,
    isOrdinaryDay: true,
  };
}
