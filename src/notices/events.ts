import type { Notice } from '../event/notice.ts';
import type { Logger } from '../ops/log.ts';
import { add, exposeTally, type MetricsRegistry, type Tally } from '../ops/metrics.ts';

/** What happens in this stage, logged and counted. */
export class NoticeEvents {
  readonly #log: Logger;
  readonly #notices: Tally = new Map();

  constructor(log: Logger, metrics: MetricsRegistry) {
    this.#log = log;
    exposeTally(
      metrics,
      'postrider_notices_total',
      'Notices about destinations, by what they say.',
      'notice',
      ['failing', 'disabled', 'well'],
      () => this.#notices,
    );
  }

  /** This process watches the destinations from now on, or does not any more. */
  turned(isWatching: boolean): void {
    const what = isWatching ? 'this process writes notices' : 'another process may write notices';
    this.#log.info({}, what);
  }

  written({ notice, destination, after, since, text }: Notice, hooks: number): void {
    add(this.#notices, notice);
    this.#log.info({ notice, destination, after, since, hooks }, text);
  }

  /** Nothing is forgotten: it is tried again. */
  failed(error: unknown): void {
    this.#log.error({ err: error }, 'notices could not be written and are tried again');
  }
}
