import { getHeapStatistics } from 'node:v8';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { version } from './process.ts';

/** The registry for the metrics of stages; one per process. */
export type MetricsRegistry = Registry;

/** Creates a registry with Node's own process and event loop metrics. */
export function createMetrics(): MetricsRegistry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  exposeBuild(registry);
  exposeGauge(
    registry,
    'postrider_heap_limit_bytes',
    'How large the heap may become before the process ends: nodejs_heap_size_used_bytes comes near it.',
    () => getHeapStatistics().heap_size_limit,
  );
  return registry;
}

/** A constant 1, whose label tells during an upgrade which processes are of which release. */
function exposeBuild(registry: MetricsRegistry): void {
  const gauge = new Gauge({
    name: 'postrider_build_info',
    help: 'Always 1. The release that runs is its label, for example to see how far an upgrade is.',
    labelNames: ['version'],
    registers: [registry],
  });
  gauge.set({ version }, 1);
}

/**
 * Histogram buckets for ages, in seconds: from a quick first attempt up to the end of the retry
 * window of four hours.
 */
export const ageBucketsSeconds: number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200,
  14_400,
];

/** A gauge whose value is read when it is scraped. */
export function exposeGauge(
  registry: MetricsRegistry,
  name: string,
  help: string,
  read: () => number,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

export function* inSeconds(
  milliseconds: Iterable<readonly [string, number]>,
): Generator<readonly [string, number]> {
  for (const [value, ms] of milliseconds) yield [value, ms / 1_000];
}

/** A gauge for each value of a label, read when it is scraped. */
export function exposeGauges(
  registry: MetricsRegistry,
  name: string,
  help: string,
  label: string,
  read: () => Iterable<readonly [string, number]>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, number] of read()) this.set({ [label]: value }, number);
    },
  });
}

/** Numbers by label value, added up without prom-client's cost for labels and copied when scraped. */
export type Tally = Map<string, number>;

export function add<Value extends string>(
  tally: Map<Value, number>,
  value: Value,
  count: number = 1,
): void {
  tally.set(value, (tally.get(value) ?? 0) + count);
}

/** A plain number, copied to a counter when it is scraped. */
export function exposeCount(
  registry: MetricsRegistry,
  name: string,
  help: string,
  read: () => number,
): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

/**
 * A counter for each value of a label, copied from a tally when it is scraped.
 * @param values all values of the label. Their series exist from the start, because Prometheus does not see
 * the first event of a new series as an increase.
 */
export function exposeTally(
  registry: MetricsRegistry,
  name: string,
  help: string,
  label: string,
  values: readonly string[],
  read: () => Iterable<readonly [string, number]>,
): void {
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const value of values) this.inc({ [label]: value }, 0);
      for (const [value, count] of read()) this.inc({ [label]: value }, count);
    },
  });
}

/**
 * Exposes whether each role of the process does its work. The series exists from the process's
 * first moment on.
 */
export function exposeReady(
  registry: MetricsRegistry,
  read: () => Iterable<readonly [string, boolean]>,
): void {
  exposeGauges(
    registry,
    'postrider_ready',
    '1 while the role does its work. The series exists from the start of the process.',
    'role',
    function* () {
      for (const [role, ready] of read()) yield [role, ready ? 1 : 0];
    },
  );
}
