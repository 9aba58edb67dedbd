import { Counter, Gauge, type Registry } from 'prom-client';
import type { SyncResult } from './sync.ts';
import type { ChangeKind } from './sync-target.ts';

/** What a sync says of itself, for a scrape while it runs and for a textfile collector when it has ended. */
export class SyncMetrics {
  readonly #registry: Registry;
  readonly #lastSuccess: Gauge;
  readonly #failed: Gauge;
  readonly #members: Gauge;
  readonly #changes: Gauge;
  readonly #duration: Gauge;
  readonly #sent: Counter;

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    const gauge = (name: string, help: string, ...more: readonly string[]): Gauge =>
      new Gauge({ name, help, labelNames: ['audience', ...more], registers });
    this.#lastSuccess = gauge(
      'postrider_audience_sync_last_success_timestamp_seconds',
      'When the last sync that succeeded has ended.',
    );
    this.#failed = gauge('postrider_audience_sync_failed', '1 if the last sync has failed.');
    this.#members = gauge('postrider_audience_sync_members', 'Users in the data of the last sync.');
    this.#changes = gauge(
      'postrider_audience_sync_changes',
      'Changes that the last sync sent: added, removed, changed, baseline.',
      'change',
    );
    this.#duration = gauge(
      'postrider_audience_sync_duration_seconds',
      'How long the last sync that succeeded took.',
    );
    this.#sent = new Counter({
      name: 'postrider_audience_sync_sent_total',
      help: 'Changes committed by this process.',
      labelNames: ['audience'],
      registers,
    });
  }

  sent(audience: string, changes: number): void {
    this.#sent.inc({ audience }, changes);
  }

  failed(audience: string): void {
    this.#failed.set({ audience }, 1);
  }

  succeeded(audience: string, result: SyncResult, nowMs: number): void {
    this.#failed.set({ audience }, 0);
    this.#lastSuccess.set({ audience }, nowMs / 1_000);
    this.#members.set({ audience }, result.members);
    this.#duration.set({ audience }, result.durationMs / 1_000);
    const kinds: readonly ChangeKind[] = ['added', 'removed', 'changed', 'baseline'];
    for (const change of kinds) this.#changes.set({ audience, change }, result[change]);
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
