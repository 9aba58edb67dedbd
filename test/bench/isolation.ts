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
const measuredSeconds = 12;
const capacitySeconds = 8;
/** The broker's code is compiled, too. */
const capacityWarmUpSeconds = 30;
/** A deferred event comes back after the shortest tier's ten seconds, less a tenth. */
const deferredMs = 9_000;

/** What healthy endpoints have beside them: nothing, one that hangs, or as many events that are dropped where they are read. */
type Arm = 'alone' | 'hanging' | 'unsent';
type Samples = Record<Arm, Sample>;

interface Sample {
  readonly p99Ms: number;
  readonly deferred: number;
}

export async function benchIsolation(options: IsolationBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, pairs = 7, log = () => undefined } = options;
  const stand = (name: string, destinations: readonly StandDestination[]): Promise<Stand> =>
    buildStand({ brokers, destinations, maxInFlight: 1_024, prefix: `${prefix}${name}.` });
  const capacity = await measureCapacity(await stand('capacity', arms.alone));
  // Half of the capacity in all, half of it for the healthy ones.
  const perSecond = Math.round(capacity / 4);
  log(`capacity ${Math.round(capacity)} events/s; ${perSecond} events/s for the healthy ones`);
  const sample = async (arm: Arm, pair: number): Promise<Sample> => {
    const inAll = arm === 'alone' ? perSecond : 2 * perSecond;
    return measure(await stand(`${arm}-${pair}`, arms[arm]), inAll);
  };
  const all: Samples[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const hanging = await sample('hanging', pair);
    const alone = await sample('alone', pair);
    const unsent = await sample('unsent', pair);
    all.push({ alone, hanging, unsent });
    log(
      `isolation: alone ${describe(alone)}; beside a hanging one ${describe(hanging)}; ` +
        `beside one to which nothing is sent ${describe(unsent)}`,
    );
  }
  return [
    rise("isolation: the healthy endpoints' p99 beside one that hangs, against alone", {
      all,
      against: 'alone',
      perSecond,
    }),
    rise('isolation: the same, against events that are dropped where they have been read', {
      all,
      against: 'unsent',
      perSecond,
    }),
  ];
}

interface Rise {
  readonly all: readonly Samples[];
  readonly against: Exclude<Arm, 'hanging'>;
  readonly perSecond: number;
}

function rise(name: string, { all, against, perSecond }: Rise): BenchResult {
  const ratios = all.map((samples) => samples.hanging.p99Ms / samples[against].p99Ms);
  const median = medianOf(ratios);
  const deferred = all.reduce((sum, { hanging }) => sum + hanging.deferred, 0);
  const p99Ms = (arm: Arm): string => medianOf(all.map((each) => each[arm].p99Ms)).toFixed(1);
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
  await stand.produce(eventsPerSecond, warmUpSeconds);
  stand.takeLatenciesMs();
  await stand.produce(eventsPerSecond, measuredSeconds);
  for (let polls = 0; polls < 300 && stand.awaited > 0; polls += 1) await delay(100);
  const latencies = stand.takeLatenciesMs().sort((a, b) => a - b);
  const lost = stand.awaited;
  await stand.stop();
  const deferred = latencies.filter((latencyMs) => latencyMs > deferredMs).length;
  return {
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? NaN,
    deferred: deferred + lost,
  };
}

function describe({ p99Ms, deferred }: Sample): string {
  return `p99 ${p99Ms.toFixed(1)} ms, ${deferred} deferred`;
}
