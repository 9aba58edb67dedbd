import { collectDefaultMetrics, Registry } from 'prom-client';

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
