import { setTimeout as delay } from 'node:timers/promises';
import { medianOf, type BenchResult } from './measure.ts';
import type { StandDestination } from './stand-load.ts';
import { buildStand, type Stand } from './stand.ts';

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
const measuredSeconds = 10;
/** Connections that bring nothing for half a minute are closed. */
const idleMs = 45_000;
const mostIdleBytes = 10_240;

/** Both roles work at the same time: the machine's speed changes from minute to minute. */
export async function benchDestinations(options: DestinationsBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, pairs = 9, log = () => undefined } = options;
  const stand = (name: string, destinations: readonly StandDestination[]): Promise<Stand> =>
    buildStand({ brokers, destinations, maxInFlight, prefix: `${prefix}${name}.` });
  const both = [await stand('few', fewDestinations), await stand('many', manyDestinations)];
  await Promise.all(both.map((each) => each.produce(eventsPerSecond, warmUpSeconds)));
  const costs: Costs[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const [few = NaN, lots = NaN] = await Promise.all(both.map(costOf));
    costs.push({ few, many: lots });
    log(`destinations: 10 ${few.toFixed(0)} µs a delivery, 5,000 ${lots.toFixed(0)} µs`);
  }
  for (const each of both) await each.stop();
  return [cost(costs), memory(await heldBy(await stand('memory', healthyDestinations)))];
}

interface Costs {
  readonly few: number;
  readonly many: number;
}

/** Bytes of one destination. */
interface Held {
  readonly warm: number;
  readonly idle: number;
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

/** Nothing of theirs waits for a retry: what is held is held for the destination. */
const healthyDestinations = destinations('healthy', many, 1);

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

async function costOf(stand: Stand): Promise<number> {
  const before = await stand.work();
  await stand.produce(eventsPerSecond, measuredSeconds);
  const after = await stand.work();
  return (after.cpuUs - before.cpuUs) / (after.delivered - before.delivered);
}

/** The code that has been compiled meanwhile is in it. */
async function heldBy(stand: Stand): Promise<Held> {
  const freshBytes = await stand.heldBytes();
  await stand.produce(eventsPerSecond, warmUpSeconds);
  const warmBytes = await stand.heldBytes();
  await delay(idleMs);
  const idleBytes = await stand.heldBytes();
  await stand.stop();
  const perDestination = (heldBytes: number): number => Math.round((heldBytes - freshBytes) / many);
  return { warm: perDestination(warmBytes), idle: perDestination(idleBytes) };
}

function cost(costs: readonly Costs[]): BenchResult {
  const ratios = costs.map((each) => each.few / each.many);
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

function memory({ warm, idle }: Held): BenchResult {
  const ratio = idle / mostIdleBytes;
  return {
    name: 'destinations: memory of an idle one, as a share of 10 KB',
    required: 'at most 1',
    ratios: [ratio],
    median: ratio,
    spread: [ratio, ratio],
    passed: ratio <= 1,
    absolutes: { 'with a connection, bytes': String(warm), 'idle, bytes': String(idle) },
  };
}
