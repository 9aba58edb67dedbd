import { LogThrottle } from '../ops/log-throttle.ts';
import type { Logger } from '../ops/log.ts';
import { add, exposeTally, type MetricsRegistry, type Tally } from '../ops/metrics.ts';

const warnAgainMs = 10_000;

/**
 * The time for which brokers have asked this process to send nothing more over a connection, because it is beyond a
 * quota. Everything takes as much longer, and nothing else shows why.
 */
export class Throttling {
  /** By kind of request. */
  readonly #waitedMs: Tally = new Map();
  readonly #warnings = new LogThrottle(warnAgainMs);
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  throttled(broker: string, apiName: string, throttleMs: number): void {
    add(this.#waitedMs, apiName, throttleMs);
    const unlogged = this.#warnings.pass(performance.now());
    if (unlogged === undefined) return;
    this.#log.warn(
      { broker, request: apiName, throttleMs, unlogged },
      'Kafka slows this process down, because it is beyond a quota',
    );
  }

  expose(registry: MetricsRegistry): void {
    exposeTally(
      registry,
      'postrider_kafka_throttled_seconds_total',
      'Time for which brokers asked this process to wait because of a quota, by kind of request.',
      'request',
      ['Fetch', 'Produce'],
      () => Array.from(this.#waitedMs, ([apiName, ms]) => [apiName, ms / 1_000] as const),
    );
  }
}
