import { neighbourRule, type Violation } from './invariants.ts';
import type { DestinationPlan, Scenario } from './scenario.ts';
import { simulate, type Percentiles } from './simulate.ts';

/** What a healthy destination may wait beside others: chance falls differently. */
interface Bar {
  readonly of: keyof Percentiles;
  readonly factor: number;
  readonly moreMs: number;
}

const usual: Bar = { of: 'p95', factor: 1.25, moreMs: 500 };
/** What waits for a limit leaves others room when half of a window is full, and that takes its time. */
const besideLimits: Bar = { ...usual, moreMs: 5_000 };
const onOrdinaryDay: Bar = { of: 'p99', factor: 1.5, moreMs: 100 };
/** Four destinations at their limits fill a worker, by design; this leaves the others room. */
const enoughInFlight = 1_024;

/** Whether healthy destinations wait longer because others are in trouble: the same scenario, with the troubles and without. */
export async function neighboursHurt(scenario: Scenario): Promise<Violation[]> {
  const troubled: Scenario = { ...scenario, faults: [], maxInFlight: enoughInFlight };
  const healthy = scenario.destinations.filter(isHealthy);
  if (healthy.length === 0 || healthy.length === scenario.destinations.length) return [];
  const onlyFor = healthy.map(({ id }) => id);
  const { of, factor, moreMs } = barOf(scenario);
  const { waitsMs: beside } = await simulate(troubled, { onlyFor });
  // So short a wait is allowed whatever it is without the troubles.
  if (onlyFor.every((id) => (beside[id]?.[of] ?? 0) <= moreMs)) return [];
  const calm: Scenario = { ...troubled, destinations: scenario.destinations.map(calmed) };
  const { waitsMs: alone } = await simulate(calm, { onlyFor });
  return onlyFor.flatMap((id) => {
    const [besideMs = 0, aloneMs = 0] = [beside[id]?.[of], alone[id]?.[of]];
    if (besideMs <= aloneMs * factor + moreMs) return [];
    const what = `${id} waits ${besideMs} ms (${of}) beside others in trouble, and ${aloneMs} ms without`;
    return [{ rule: neighbourRule, what }];
  });
}

function barOf({ isOrdinaryDay, destinations }: Scenario): Bar {
  if (isOrdinaryDay === true) return onOrdinaryDay;
  return destinations.some(({ rateLimit }) => rateLimit !== undefined) ? besideLimits : usual;
}

/** Quick, and with room for all that comes. */
function isHealthy({ urls, maxInFlight, rateLimit }: DestinationPlan): boolean {
  return (
    maxInFlight === undefined &&
    rateLimit === undefined &&
    urls.every(
      ({ troubles, goneFromMs, capacity, latencyMs: [, most] }) =>
        troubles.length === 0 && goneFromMs === undefined && capacity >= 64 && most <= 200,
    )
  );
}

function calmed(destination: DestinationPlan): DestinationPlan {
  const urls = destination.urls.map((url) => ({ ...url, troubles: [], goneFromMs: undefined }));
  return { ...destination, urls, rateLimit: undefined };
}
