import { Gauge, type Registry } from 'prom-client';
import { type AudienceRecord, type SyncCounts } from './record.ts';

const changes = [
  'added',
  'removed',
  'changed',
  'baseline',
  'forgotten',
] as const satisfies readonly (keyof SyncCounts)[];

/** The last syncs of audiences, as metrics: of a job while it runs, and of the router at any time. */
export class AudienceGauges {
  readonly #lastSuccess: Gauge;
  readonly #failed: Gauge;
  readonly #members: Gauge;
  readonly #changes: Gauge;
  readonly #duration: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = (name: string, help: string, ...more: readonly string[]): Gauge =>
      new Gauge({ name, help, labelNames: ['audience', ...more], registers });
    this.#lastSuccess = gauge(
      'postrider_audience_sync_last_success_timestamp_seconds',
      'When the last successful sync of an audience ended, in seconds since 1970.',
    );
    this.#failed = gauge(
      'postrider_audience_sync_failed',
      '1 if the last sync of an audience failed or was refused, else 0.',
    );
    this.#members = gauge(
      'postrider_audience_sync_members',
      'Users in the data of the last successful sync.',
    );
    this.#changes = gauge(
      'postrider_audience_sync_changes',
      `Changes of the last successful sync: ${changes.join(', ')}.`,
      'change',
    );
    this.#duration = gauge(
      'postrider_audience_sync_duration_seconds',
      'How long the last successful sync took.',
    );
  }

  /** Undefined: the audience is no more. */
  show(audience: string, record: AudienceRecord | undefined): void {
    if (record === undefined) this.#remove(audience);
    const [last] = record?.syncs ?? [];
    if (last === undefined) return;
    const hasFailed = last.outcome === 'failed' || last.outcome === 'refused';
    this.#failed.set({ audience }, hasFailed ? 1 : 0);
    const done = record?.syncs.find(({ outcome }) => outcome === 'done');
    if (done === undefined) return;
    const endedMs = Date.parse(done.startedAt) + done.durationMs;
    this.#lastSuccess.set({ audience }, endedMs / 1_000);
    this.#members.set({ audience }, done.members);
    this.#duration.set({ audience }, done.durationMs / 1_000);
    for (const change of changes) this.#changes.set({ audience, change }, done[change]);
  }

  /** Also before anything could be written about the audience. */
  failed(audience: string): void {
    this.#failed.set({ audience }, 1);
  }

  #remove(audience: string): void {
    for (const gauge of [this.#lastSuccess, this.#failed, this.#members, this.#duration])
      gauge.remove({ audience });
    for (const change of changes) this.#changes.remove({ audience, change });
  }
}
