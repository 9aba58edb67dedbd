import { Counter, Histogram } from 'prom-client';
import type { MetricsRegistry } from '../ops/metrics.ts';

/** The metrics of the role. */
export class ApiMetrics {
  readonly #requests: Histogram<'status'>;
  readonly #failures: Counter;
  readonly #changes: Counter;

  constructor(registry: MetricsRegistry) {
    this.#requests = new Histogram({
      name: 'postrider_api_request_seconds',
      help: 'Time until a request to the API was answered, by its status.',
      labelNames: ['status'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [registry],
    });
    // A share of something that never was is nothing, and no alert is made of that.
    for (const status of ['2xx', '4xx', '5xx']) this.#requests.zero({ status });
    this.#failures = new Counter({
      name: 'postrider_api_failures_total',
      help: 'Requests to the API that failed in a way that nobody expected; the log says why.',
      registers: [registry],
    });
    this.#changes = new Counter({
      name: 'postrider_api_changes_total',
      help: 'Changes of resources that the API has written, or found to be made already.',
      registers: [registry],
    });
  }

  written(changes: number): void {
    this.#changes.inc(changes);
  }

  answered(status: number, seconds: number): void {
    this.#requests.observe({ status: `${Math.floor(status / 100)}xx` }, seconds);
  }

  failed(): void {
    this.#failures.inc();
  }
}
