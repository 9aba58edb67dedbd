import type { Clock } from '../ops/clock.ts';
import type { Config } from '../resources/config/config.ts';
import type { Refusal } from './refusal.ts';

export type KeyConfig = Pick<Config, 'sourceByWriteKey' | 'caughtUp'>;

/** A refresh takes a few milliseconds; while Kafka is unreachable it takes until Kafka is back. */
const lookTimeoutMs = 2_000;

/** The write keys that have a source. All requests with unknown keys share one refresh from Kafka. */
export class KnownKeys {
  readonly #config: KeyConfig;
  readonly #clock: Clock;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(config: KeyConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** The first of the given keys that has a source, as far as is known here. */
  find(...given: readonly (string | undefined)[]): string | undefined {
    return given.find(
      (key) => key !== undefined && this.#config.sourceByWriteKey(key) !== undefined,
    );
  }

  /** The source's id. */
  sourceOf(writeKey: string): string | undefined {
    return this.#config.sourceByWriteKey(writeKey)?.id;
  }

  /** Like `find`, but after a refresh of the configuration, because the source may be new. */
  async findCurrent(...given: readonly (string | undefined)[]): Promise<string | Refusal> {
    if (given.every((key) => key === undefined)) return noWriteKey;
    const isCurrent = await this.#inTime(this.#look());
    return isCurrent ? (this.find(...given) ?? unknownWriteKey) : configUnknown;
  }

  /** A refresh that has already begun may miss what was configured since, so only the next one counts. */
  async #look(): Promise<void> {
    if (this.#running === undefined) return this.#begin();
    return (this.#next ??= this.#running.then(this.#begin, this.#begin));
  }

  readonly #begin = async (): Promise<void> => {
    this.#next = undefined;
    const look = this.#config.caughtUp().finally(() => {
      this.#running = undefined;
    });
    this.#running = look;
    return look;
  };

  /** False if the refresh fails or takes too long. */
  async #inTime(look: Promise<void>): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(lookTimeoutMs, () => {
        resolve(false);
      });
      const end = (isCurrent: boolean) => (): void => {
        timer.cancel();
        resolve(isCurrent);
      };
      look.then(end(true), end(false));
    });
  }
}

const noWriteKey: Refusal = {
  code: 'no-write-key',
  message: 'Neither Basic authentication nor the field writeKey of the body names a source.',
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
