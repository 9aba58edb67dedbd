import type { SteadyClock } from '../ops/clock.ts';
import type { Config } from '../resources/config/config.ts';
import type { Refusal } from './refusal.ts';

export type KeyConfig = Pick<Config, 'sourceByWriteKey' | 'caughtUp'>;

/** A refresh takes a few milliseconds; while Kafka is unreachable it takes until Kafka is back. */
const lookTimeoutMs = 2_000;

/** The write keys that have a source. All requests with unknown keys share one refresh from Kafka. */
export class KnownKeys {
  readonly #config: KeyConfig;
  readonly #clock: SteadyClock;
  /** The time at which the refresh under way began, by the steady clock. */
  #runningSinceMs: number | undefined;
  /** Callers that wait for the refresh after that. One that is answered is not kept, however long a refresh takes. */
  #waiting = new Set<(isCurrent: boolean) => void>();

  constructor(config: KeyConfig, clock: SteadyClock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** The given key if it has a source, as far as is known here. */
  find(given: string | undefined): string | undefined {
    return given !== undefined && this.sourceOf(given) !== undefined ? given : undefined;
  }

  /** The source's id. */
  sourceOf(writeKey: string): string | undefined {
    return this.#config.sourceByWriteKey(writeKey)?.id;
  }

  /** Like `find`, but after a refresh of the configuration, because the source may be new. */
  async findCurrent(given: string | undefined): Promise<string | Refusal> {
    if (given === undefined) return noWriteKey;
    return (await this.#refreshed()) ? (this.find(given) ?? unknownWriteKey) : configUnknown;
  }

  /**
   * False if the refresh fails or takes too long. One that has already begun may miss what was configured since, so
   * only the next one counts.
   */
  async #refreshed(): Promise<boolean> {
    if (this.#isOverdue) return false;
    const refreshed = new Promise<boolean>((resolve) => {
      const waiting = this.#waiting;
      const answer = (isCurrent: boolean): void => {
        timer.cancel();
        resolve(isCurrent);
      };
      const timer = this.#clock.after(lookTimeoutMs, () => {
        waiting.delete(answer);
        resolve(false);
      });
      waiting.add(answer);
    });
    if (this.#runningSinceMs === undefined) this.#begin();
    return refreshed;
  }

  get #isOverdue(): boolean {
    const sinceMs = this.#runningSinceMs;
    return sinceMs !== undefined && this.#clock.steadyNow() - sinceMs >= lookTimeoutMs;
  }

  #begin(): void {
    const answered = this.#waiting;
    this.#waiting = new Set();
    this.#runningSinceMs = this.#clock.steadyNow();
    const end = (isCurrent: boolean) => (): void => {
      this.#runningSinceMs = undefined;
      for (const answer of answered) answer(isCurrent);
      if (this.#waiting.size > 0) this.#begin();
    };
    this.#config.caughtUp().then(end(true), end(false));
  }
}

const noWriteKey: Refusal = {
  code: 'no-write-key',
  message: 'Neither Basic authentication nor the field writeKey of a JSON body names a source.',
};

const unknownWriteKey: Refusal = {
  code: 'unknown-write-key',
  message: 'No source has this write key.',
};

const configUnknown: Refusal = {
  code: 'kafka-unavailable',
  message: 'The gateway cannot check this write key now; send this again later.',
  retryAfterS: 2,
};
