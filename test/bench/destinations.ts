import { setTimeout as delay } from 'node:timers/promises';
import { medianOf, type BenchResult } from './measure.ts';
import type { StandDestination } from './stand-load.ts';
import { buildStand, type RoleReading, type Stand } from './stand.ts';

/** What a delivery costs with 5,000 destinations, a twentieth of them broken, against one with 10. */

export interface DestinationsBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly pairs?: number;
  readonly log?: (line: string) => void;
}

const many = 5_000;
/** Two events each in five seconds. */
const eventsPerSecond = 2_000;
const requiredRatio = 0.85;
/** Fewer than there are hanging endpoints. */
const maxInFlight = 100;
/** Every destination gets eight events: connections are warm, and the breakers of the broken ones open. */
const warmUpSeconds = 20;
const measuredSeconds = 20;
/** Connections that bring nothing for half a minute are closed. */
const idleMs = 45_000;
const mostIdleBytes = 10_240;

interface Sample {
  readonly cpuUs: number;
  readonly warm: RoleReading;
}

export async function benchDestinations(options: DestinationsBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, pairs = 3, log = () => undefined } = options;
  const stand = (name: string, destinations: readonly StandDestination[]): Promise<Stand> =>
    buildStand({ brokers, destinations, maxInFlight, prefix: `${prefix}${name}.` });
  const ratios: number[] = [];
  const costs: { few: number; many: number }[] = [];
  const held: { warm: number; idle: number }[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const few = await stand(`few-${pair}`, fewDestinations);
    const ofFew = await measure(few);
    await few.stop();
    const lots = await stand(`many-${pair}`, manyDestinations);
    const fresh = await lots.read();
    const ofMany = await measure(lots);
    await delay(idleMs);
    const idle = await lots.read();
    await lots.stop();
    ratios.push(ofFew.cpuUs / ofMany.cpuUs);
    costs.push({ few: ofFew.cpuUs, many: ofMany.cpuUs });
    held.push({
      warm: perDestination(fresh, ofMany.warm),
      idle: perDestination(fresh, idle),
    });
    log(
      `destinations: 10 ${ofFew.cpuUs.toFixed(0)} µs a delivery, 5,000 ${ofMany.cpuUs.toFixed(0)} µs; ` +
        `bytes a destination: ${held[pair]?.warm ?? 0} with a connection, ${held[pair]?.idle ?? 0} idle`,
    );
  }
  return [cost(ratios, costs), memory(held)];
}

const fewDestinations = [
  ...destinations('healthy', 8, (eventsPerSecond * 0.95) / 8),
  ...destinations('failing', 1, eventsPerSecond * 0.025),
  ...destinations('hanging', 1, eventsPerSecond * 0.025),
];
const manyDestinations = [
  ...destinations('healthy', many * 0.95, 1),
  ...destinations('failing', many * 0.025, 1),
  ...destinations('hanging', many * 0.025, 1),
];

function destinations(
  behaviour: StandDestination['behaviour'],
  count: number,
  share: number,
): StandDestination[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${behaviour}-${index}`,
    behaviour,
    share,
  }));
}

async function measure(stand: Stand): Promise<Sample> {
  await stand.produce(eventsPerSecond, warmUpSeconds);
  const before = await stand.read();
  await stand.produce(eventsPerSecond, measuredSeconds);
  const warm = await stand.read();
  return { cpuUs: (warm.cpuUs - before.cpuUs) / (warm.delivered - before.delivered), warm };
}

/** The bodies in flight and the code that has been compiled meanwhile are in it. */
function perDestination(fresh: RoleReading, used: RoleReading): number {
  return Math.round((used.heldBytes - fresh.heldBytes) / many);
}

function cost(
  ratios: readonly number[],
  costs: readonly { few: number; many: number }[],
): BenchResult {
  const median = medianOf(ratios);
  return {
    name: 'destinations: deliveries per CPU second with 5,000 destinations, against 10',
    required: `at least ${requiredRatio}`,
    ratios,
    median,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    passed: median >= requiredRatio,
    absolutes: {
      '10 destinations, CPU µs a delivery': medianOf(costs.map(({ few }) => few)).toFixed(1),
      '5,000 destinations, CPU µs a delivery': medianOf(costs.map((each) => each.many)).toFixed(1),
    },
  };
}

function memory(held: readonly { warm: number; idle: number }[]): BenchResult {
  const ratios = held.map(({ idle }) => idle / mostIdleBytes);
  const median = medianOf(ratios);
  return {
    name: 'destinations: memory of an idle one, as a share of 10 KB',
    required: 'at most 1',
    ratios,
    median,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    passed: median <= 1,
    absolutes: {
      'with a connection, bytes': medianOf(held.map(({ warm }) => warm)).toFixed(0),
      'idle, bytes': medianOf(held.map(({ idle }) => idle)).toFixed(0),
    },
  };
}
