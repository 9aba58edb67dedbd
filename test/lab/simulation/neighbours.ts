import { neighbourRule, type Violation } from './invariants.ts';
import type { DestinationPlan, Scenario } from './scenario.ts';
import { simulate, type PlacedWait, type Simulated } from './simulate.ts';

/** What a healthy destination may wait beside others: chance falls differently. */
interface Bar {
  readonly share: number;
  readonly factor: number;
  readonly moreMs: number;
}

const usual: Bar = { share: 0.95, factor: 1.25, moreMs: 500 };
/** What waits for a limit leaves others room when half of a window is full, and that takes its time. */
const besideLimits: Bar = { ...usual, moreMs: 5_000 };
const onOrdinaryDay: Bar = { share: 0.99, factor: 1.5, moreMs: 100 };
/** Four destinations at their limits fill a worker, by design; this leaves the others room. */
const enoughInFlight = 1_024;
/**
 * Until Kafka has missed a broker, and those who waited for its word have tried again. One that is isolated goes on
 * answering. A producer asks others after 8 s without replicas, perhaps twice, and a reader in its rack hears with its
 * next look that the broker is not in sync any more.
 */
const electionMs = { down: 20_000, suspended: 20_000, isolated: 45_000 };
const secondMs = 1_000;

/**
 * Whether the bar of an ordinary day holds for an event. Where a broker is lost, an event in partitions that have a
 * replica on it waits until Kafka has replaced that broker. Others feel nothing.
 */
function counts({ fromMs, nodes }: PlacedWait, { faults }: Scenario): boolean {
  return !faults.some(
    (fault) =>
      fault.kind === 'broker' &&
      nodes.includes(fault.node) &&
      fromMs > fault.atMs - secondMs &&
      fromMs < fault.atMs + electionMs[fault.state],
  );
}

/**
 * Whether healthy destinations wait longer because others are in trouble: the same scenario, with the troubles and
 * without. Faults are left out of both, but on ordinary days.
 * @param waits of the scenario as it is
 */
export async function neighboursHurt(
  scenario: Scenario,
  waits: Simulated['waits'],
): Promise<Violation[]> {
  const { day, faults } = scenario;
  const healthy = scenario.destinations.filter(
    (destination, index) =>
      isHealthy(destination) &&
      (day === undefined || !faults.some((fault) => isAbout(fault, index))),
  );
  const isCalm = healthy.length === scenario.destinations.length && day === undefined;
  if (healthy.length === 0 || isCalm) return [];
  const onlyFor = healthy.map(({ id }) => id);
  const { share, factor, moreMs } = barOf(scenario);
  const waitMs = (of: Simulated['waits'], id: string): number =>
    percentile(
      (of.get(id) ?? []).filter((wait) => day === undefined || counts(wait, scenario)),
      share,
    );
  const withoutFaults: Scenario = { ...scenario, faults: [], maxInFlight: enoughInFlight };
  const beside = day === undefined ? (await simulate(withoutFaults, { onlyFor })).waits : waits;
  // So short a wait is allowed whatever it is without the troubles.
  if (onlyFor.every((id) => waitMs(beside, id) <= moreMs)) return [];
  const calm = {
    ...withoutFaults,
    destinations: day === undefined ? scenario.destinations.map(calmed) : healthy,
  };
  const { waits: alone } = await simulate(calm, { onlyFor });
  return onlyFor.flatMap((id) => {
    const [besideMs, aloneMs] = [waitMs(beside, id), waitMs(alone, id)];
    if (besideMs <= aloneMs * factor + moreMs) return [];
    const what = `${id} waits ${besideMs} ms (${100 * share} %) beside others in trouble, and ${aloneMs} ms without`;
    return [{ rule: neighbourRule, what }];
  });
}

function percentile(waits: readonly PlacedWait[], share: number): number {
  const sorted = waits.map(({ forMs }) => forMs).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

function isAbout(fault: Scenario['faults'][number], destination: number): boolean {
  return 'destination' in fault && fault.destination === destination;
}

function barOf({ day, destinations }: Scenario): Bar {
  if (day !== undefined) return onOrdinaryDay;
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
