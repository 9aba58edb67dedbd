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
/** For each of the 5,000 destinations an event in five seconds, as little as counts. */
const eventsPerSecond = 1_000;
const requiredRatio = 0.85;
/** A delivery costs less the more there are of them: what 5,000 destinations add shows more. */
const twiceAsMany = 2 * eventsPerSecond;
const pairsOfTwiceAsMany = 5;
/** Fewer than there are hanging endpoints. */
const maxInFlight = 100;
/** Connections are warm, and the breakers of most that are broken open. */
const warmUpSeconds = 60;
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
  const measure = async (perSecond: number, count: number): Promise<Costs[]> => {
    const costs: Costs[] = [];
    while (costs.length < count) {
      const [few = NaN, lots = NaN] = await Promise.all(
        both.map((each) => costOf(each, perSecond)),
      );
      costs.push({ few, many: lots });
      log(`destinations: 10 ${few.toFixed(0)} µs a delivery, 5,000 ${lots.toFixed(0)} µs`);
    }
    return costs;
  };
  const costs = await measure(eventsPerSecond, pairs);
  const ofTwice = await measure(twiceAsMany, pairsOfTwiceAsMany);
  for (const each of both) await each.stop();
  return [cost(costs, ofTwice), memory(await heldBy(await stand('memory', healthyDestinations)))];
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

async function costOf(stand: Stand, perSecond: number): Promise<number> {
  const before = await stand.work();
  await stand.produce(perSecond, measuredSeconds);
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

function cost(costs: readonly Costs[], ofTwice: readonly Costs[]): BenchResult {
  const ratios = ratiosOf(costs);
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
      'with twice as many events, 10': medianOf(ofTwice.map(({ few }) => few)).toFixed(1),
      'with twice as many events, 5,000': medianOf(ofTwice.map((each) => each.many)).toFixed(1),
      'with twice as many events, ratio': medianOf(ratiosOf(ofTwice)).toFixed(2),
    },
  };
}

function ratiosOf(costs: readonly Costs[]): number[] {
  return costs.map((each) => each.few / each.many);
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
