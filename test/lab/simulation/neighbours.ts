import { neighbourRule, type Violation } from './invariants.ts';
import type { DestinationPlan, Scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

/** What a healthy destination may wait longer beside others in trouble: chance falls differently. */
const mostFactor = 1.25;
const mostMoreMs = 500;
/** What waits for a limit leaves others room when half of a window is full, and that takes its time. */
const mostMoreBesideLimitsMs = 5_000;
/** Four destinations at their limits fill a worker, by design; this leaves the others room. */
const enoughInFlight = 1_024;

/** Whether healthy destinations wait longer because others are in trouble: the same scenario, with the troubles and without. */
export async function neighboursHurt(scenario: Scenario): Promise<Violation[]> {
  const troubled: Scenario = { ...scenario, faults: [], maxInFlight: enoughInFlight };
  const healthy = scenario.destinations.filter(isHealthy);
  if (healthy.length === 0 || healthy.length === scenario.destinations.length) return [];
  const onlyFor = healthy.map(({ id }) => id);
  const isLimited = scenario.destinations.some(({ rateLimit }) => rateLimit !== undefined);
  const moreMs = isLimited ? mostMoreBesideLimitsMs : mostMoreMs;
  const { p95WaitMs: beside } = await simulate(troubled, { onlyFor });
  // So short a wait is allowed whatever it is without the troubles.
  if (onlyFor.every((id) => (beside[id] ?? 0) <= moreMs)) return [];
  const calm: Scenario = { ...troubled, destinations: scenario.destinations.map(calmed) };
  const { p95WaitMs: alone } = await simulate(calm, { onlyFor });
  return onlyFor.flatMap((id) => {
    const [besideMs = 0, aloneMs = 0] = [beside[id], alone[id]];
    if (besideMs <= aloneMs * mostFactor + moreMs) return [];
    const what = `${id} waits ${besideMs} ms (p95) beside others in trouble, and ${aloneMs} ms without`;
    return [{ rule: neighbourRule, what }];
  });
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
