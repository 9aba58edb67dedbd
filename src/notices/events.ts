import type { Notice } from '../event/notice.ts';
import type { Logger } from '../ops/log.ts';
import { add, exposeTally, type MetricsRegistry, type Tally } from '../ops/metrics.ts';

/** The events of this stage, logged and counted. */
export class NoticeEvents {
  readonly #log: Logger;
  readonly #notices: Tally = new Map();

  constructor(log: Logger, metrics: MetricsRegistry) {
    this.#log = log;
    exposeTally(
      metrics,
      'postrider_notices_total',
      'Notices about destinations that this process wrote.',
      'notice',
      ['failing', 'disabled', 'well'],
      () => this.#notices,
    );
  }

  /** This process begins or ceases to watch the destinations. */
  turned(isWatching: boolean): void {
    const what = isWatching ? 'this process writes notices' : 'another process may write notices';
    this.#log.info({}, what);
  }

  written({ notice, destination, after, since, text }: Notice, hooks: number): void {
    add(this.#notices, notice);
    this.#log.info({ notice, destination, after, since, hooks }, text);
  }

  /** Nothing is lost: the notice is tried again. */
  failed(error: unknown): void {
    this.#log.error({ err: error }, 'notices could not be written; trying again');
  }
}
