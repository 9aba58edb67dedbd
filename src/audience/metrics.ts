import { Counter, type Registry } from 'prom-client';
import { AudienceGauges } from '../resources/audiences/gauges.ts';

/** What a sync says of itself, for a scrape while it runs and for a textfile collector when it has ended. */
export class SyncMetrics extends AudienceGauges {
  readonly #registry: Registry;
  readonly #sent: Counter;

  constructor(registry: Registry) {
    super(registry);
    this.#registry = registry;
    this.#sent = new Counter({
      name: 'postrider_audience_sync_sent_total',
      help: 'Changes committed by this process.',
      labelNames: ['audience'],
      registers: [registry],
    });
  }

  sent(audience: string, changes: number): void {
    this.#sent.inc({ audience }, changes);
  }

  /** In Prometheus' text format; without what a process says of itself, which its collector says too. */
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
