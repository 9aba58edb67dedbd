import { Counter, type Registry } from 'prom-client';
import { AudienceGauges } from '../resources/audiences/gauges.ts';

/** Metrics of a sync, for a scrape while it runs and for a textfile collector when it has ended. */
export class SyncMetrics extends AudienceGauges {
  readonly #registry: Registry;
  readonly #sent: Counter;

  constructor(registry: Registry) {
    super(registry);
    this.#registry = registry;
    this.#sent = new Counter({
      name: 'postrider_audience_sync_sent_total',
      help: 'Changes that this process sent and committed.',
      labelNames: ['audience'],
      registers: [registry],
    });
  }

  sent(audience: string, changes: number): void {
    this.#sent.inc({ audience }, changes);
  }

  /** In Prometheus' text format, without the process metrics, which the collector provides itself. */
  async text(): Promise<string> {
    const names = this.#registry
      .getMetricsAsArray()
      .map(({ name }) => name)
      .filter((name) => name.startsWith('postrider_audience_sync_'));
    const texts = await Promise.all(
      names.map((name) => this.#registry.getSingleMetricAsString(name)),
    );
    return `${texts.join('\n')}\n`;
  }
}
