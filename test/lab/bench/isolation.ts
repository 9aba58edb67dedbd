import { setTimeout as delay } from 'node:timers/promises';
import { medianOf, type BenchResult } from './measure.ts';
import type { StandDestination } from './stand-load.ts';
import { buildStand, type Stand } from './stand.ts';

/** What healthy endpoints notice of one that hangs and has as much traffic as all of them together. */

export interface IsolationBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly pairs?: number;
  readonly log?: (line: string) => void;
}

const healthyCount = 10;
const mostRise = 1.1;
/** Until breakers have opened, connections are warm, and code is compiled. */
const warmUpSeconds = 10;
const measuredSeconds = 2;
/** Of each turn: what the role needs is in the processor's caches again. */
const settlingSeconds = 1;
const capacitySeconds = 8;
/** The broker's code is compiled, too. */
const capacityWarmUpSeconds = 30;
/** A deferred event comes back after the shortest tier's ten seconds, less a tenth. */
const deferredMs = 9_000;

/** What healthy endpoints have beside them: nothing, one that hangs, or as many events that are dropped where they are read. */
type Arm = 'alone' | 'hanging' | 'unsent';
type Samples = Readonly<Record<Arm, Sample[]>>;

interface Sample {
  readonly p99Ms: number;
  readonly deferred: number;
}

/**
 * The arms' roles run side by side and take turns of a few seconds: the machine's speed changes from minute to
 * minute, and code that has just been started is slow. A role that waits for its turn takes up to 2 % of a core.
 */
export async function benchIsolation(options: IsolationBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, pairs = 35, log = () => undefined } = options;
  const stand = (name: string, destinations: readonly StandDestination[]): Promise<Stand> =>
    buildStand({ brokers, destinations, maxInFlight: 1_024, prefix: `${prefix}${name}.` });
  const capacity = await measureCapacity(await stand('capacity', arms.alone));
  // Half of the capacity in all, half of it for the healthy ones.
  const perSecond = Math.round(capacity / 4);
  log(`capacity ${Math.round(capacity)} events/s; ${perSecond} events/s for the healthy ones`);
  const stands = {
    alone: await stand('alone', arms.alone),
    hanging: await stand('hanging', arms.hanging),
    unsent: await stand('unsent', arms.unsent),
  };
  const rates = { alone: perSecond, hanging: 2 * perSecond, unsent: 2 * perSecond };
  for (const arm of inTurn) await stands[arm].produce(rates[arm], warmUpSeconds);
  const samples: Samples = { alone: [], hanging: [], unsent: [] };
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const arm of pair % 2 === 0 ? inTurn : inTurn.toReversed()) {
      const sample = await measure(stands[arm], rates[arm]);
      samples[arm].push(sample);
      log(`isolation: ${arm}, p99 ${sample.p99Ms.toFixed(1)} ms, ${sample.deferred} deferred`);
    }
  }
  for (const arm of inTurn) await stands[arm].stop();
  return [
    rise("isolation: the healthy endpoints' p99 beside one that hangs, against alone", {
      samples,
      against: 'alone',
      perSecond,
    }),
    rise('isolation: the same, against events that are dropped where they have been read', {
      samples,
      against: 'unsent',
      perSecond,
    }),
  ];
}

interface Rise {
  readonly samples: Samples;
  readonly against: Exclude<Arm, 'hanging'>;
  readonly perSecond: number;
}

function rise(name: string, { samples, against, perSecond }: Rise): BenchResult {
  const p99sMs = (arm: Arm): number[] => samples[arm].map((sample) => sample.p99Ms);
  const without = p99sMs(against);
  const ratios = p99sMs('hanging').map((p99Ms, pair) => p99Ms / (without[pair] ?? NaN));
  const median = medianOf(ratios);
  const deferred = samples.hanging.reduce((sum, sample) => sum + sample.deferred, 0);
  const p99Ms = (arm: Arm): string => medianOf(p99sMs(arm)).toFixed(1);
  return {
    name,
    required: `less than ${mostRise}, and nothing of theirs deferred`,
    ratios,
    median,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    passed: median < mostRise && deferred === 0,
    absolutes: {
      'healthy events a second': String(perSecond),
      [`${against}, p99 ms`]: p99Ms(against),
      'beside a hanging one, p99 ms': p99Ms('hanging'),
      'deferred events of healthy endpoints': String(deferred),
    },
  };
}

const healthy: readonly StandDestination[] = Array.from({ length: healthyCount }, (_, index) => ({
  id: `healthy-${index}`,
  behaviour: 'healthy',
  share: 1,
}));
const arms: Record<Arm, readonly StandDestination[]> = {
  alone: healthy,
  hanging: [...healthy, { id: 'other', behaviour: 'hanging', share: healthyCount }],
  unsent: [...healthy, { id: 'other', behaviour: 'unsent', share: healthyCount }],
};

/** Every other pair goes backwards: whoever comes first is no better off. */
const inTurn: readonly Arm[] = ['hanging', 'alone', 'unsent'];

/** Arrivals with the producer, the broker and the endpoints on the same machine, and always enough on its way. */
async function measureCapacity(stand: Stand): Promise<number> {
  const unlimited = 1_000_000;
  const onTheirWay = 2_000;
  await stand.produce(unlimited, capacityWarmUpSeconds, onTheirWay);
  stand.takeLatenciesMs();
  await stand.produce(unlimited, capacitySeconds, onTheirWay);
  const arrived = stand.takeLatenciesMs().length;
  await stand.stop();
  return arrived / capacitySeconds;
}

async function measure(stand: Stand, eventsPerSecond: number): Promise<Sample> {
  await stand.produce(eventsPerSecond, settlingSeconds);
  stand.takeLatenciesMs();
  await stand.produce(eventsPerSecond, measuredSeconds);
  for (let polls = 0; polls < 1_500 && stand.awaited > 0; polls += 1) await delay(20);
  const latencies = stand.takeLatenciesMs().sort((a, b) => a - b);
  const deferred = latencies.filter((latencyMs) => latencyMs > deferredMs).length;
  return {
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? NaN,
    deferred: deferred + stand.awaited,
  };
}
