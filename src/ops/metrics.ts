import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** What stages register their metrics with; one per process. */
export type MetricsRegistry = Registry;

/** With Node's own process and event loop metrics already in it. */
export function createMetrics(): MetricsRegistry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/**
 * Histogram buckets for ages, in seconds: from a quick first attempt up to the end of the retry
 * window of four hours.
 */
export const ageBucketsSeconds: number[] = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  ...[60, 300, 900, 1_800, 3_600, 7_200, 14_400],
];

/** A gauge that asks when it is scraped. */
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

/** How far readers are behind, by topic, asked when it is scraped. */
export function exposeLag(
  registry: MetricsRegistry,
  name: string,
  help: string,
  read: () => ReadonlyMap<string, number>,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['topic'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [topic, records] of read()) this.set({ topic }, records);
    },
  });
}
