import type { Fault, Scenario } from './scenario.ts';

/** Scenarios that are a little less than this one. */
export function* lesser(scenario: Scenario): Generator<Scenario> {
  const { faults, bursts, destinations, audience } = scenario;
  if (audience !== undefined) {
    yield { ...scenario, audience: undefined };
    if (audience.syncs.length > 1)
      yield* without(audience.syncs, (syncs) => ({
        ...scenario,
        audience: { ...audience, syncs },
      }));
  }
  yield* without(faults, (left) => ({ ...scenario, faults: left }));
  for (const [index, fault] of faults.entries())
    if ('cuts' in fault)
      yield* without(fault.cuts, (cuts) => ({
        ...scenario,
        faults: faults.map((each, at) => (at === index ? { ...fault, cuts } : each)),
      }));
  if (destinations.length > 1)
    yield* without(destinations, (left, index) => ({
      ...scenario,
      destinations: left,
      faults: faults.flatMap((fault): Fault[] => {
        if (!('destination' in fault)) return [fault];
        if (fault.destination === index) return [];
        const destination = fault.destination - (fault.destination > index ? 1 : 0);
        return [{ ...fault, destination }];
      }),
    }));
  if (bursts.length > 1) yield* without(bursts, (left) => ({ ...scenario, bursts: left }));
  for (const [index, { calls }] of bursts.entries())
    if (calls > 1)
      yield {
        ...scenario,
        bursts: bursts.map((each, at) =>
          at === index ? { ...each, calls: Math.floor(calls / 2) } : each,
        ),
      };
  for (const [index, destination] of destinations.entries()) {
    const withDestination = (changes: Partial<typeof destination>): Scenario => ({
      ...scenario,
      destinations: destinations.map((each, at) => (at === index ? { ...each, ...changes } : each)),
    });
    const [first, second] = destination.urls;
    if (first !== undefined && second !== undefined) yield withDestination({ urls: [first] });
    for (const [at, endpoint] of destination.urls.entries())
      yield* without(endpoint.troubles, (troubles) =>
        withDestination({
          urls: destination.urls.map((each, n) => (n === at ? { ...each, troubles } : each)),
        }),
      );
    for (const [at, { goneFromMs }] of destination.urls.entries())
      if (goneFromMs !== undefined)
        yield withDestination({
          urls: destination.urls.map((each, n) =>
            n === at ? { ...each, goneFromMs: undefined } : each,
          ),
        });
    if (destination.batch !== undefined) yield withDestination({ batch: undefined });
    if (destination.rateLimit !== undefined) yield withDestination({ rateLimit: undefined });
    if (destination.retry !== undefined) yield withDestination({ retry: undefined });
    if (destination.maxInFlight !== undefined) yield withDestination({ maxInFlight: undefined });
  }
  if (scenario.routers > 1) yield { ...scenario, routers: 1 };
  if (scenario.workers > 1) yield { ...scenario, workers: scenario.workers - 1 };
  if (scenario.partitions > 1) yield { ...scenario, partitions: 1 };
}

/**
 * The least scenario found that still fails.
 * @param fails whether a scenario breaks the same promise
 * @param mostRuns of scenarios, each of which takes about a second
 */
export async function shrink(
  scenario: Scenario,
  fails: (candidate: Scenario) => Promise<boolean>,
  mostRuns: number,
): Promise<Scenario> {
  let least = scenario;
  let runs = 0;
  for (let isLess = true; isLess;) {
    isLess = false;
    for (const candidate of lesser(least)) {
      runs += 1;
      if (runs > mostRuns) return least;
      if (!(await fails(candidate))) continue;
      least = candidate;
      isLess = true;
      break;
    }
  }
  return least;
}

function* without<T>(
  items: readonly T[],
  rest: (left: readonly T[], index: number) => Scenario,
): Generator<Scenario> {
  for (const index of items.keys())
    yield rest(
      items.filter((_, at) => at !== index),
      index,
    );
}
