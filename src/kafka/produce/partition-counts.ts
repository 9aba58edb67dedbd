import type { Clock, Timer } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { backoffMs, failureOf } from './produce-failure.ts';

export interface PartitionCountsOptions {
  /** Asks Kafka; rejects while it is away or does not have the topic. */
  countPartitions(topic: string): Promise<number>;
  /** Called when a count is known, and when it was asked for again. */
  onCount(topic: string, partitions: number): void;
  /** Resolves to false when nobody waits for an answer any more. */
  pause(ms: number): Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Topics grow rarely, and a record may go to the partition that it would have had before. */
const recountAfterMs = 300_000;

/** How many partitions topics have: asked for when first needed, and again every five minutes. */
export class PartitionCounts {
  readonly #options: PartitionCountsOptions;
  readonly #counts = new Map<string, Promise<number>>();
  #timer: Timer | undefined;

  constructor(options: PartitionCountsOptions) {
    this.#options = options;
    this.#recountLater();
  }

  /** Waits as long as it takes; does not reject. */
  async get(topic: string): Promise<number> {
    let count = this.#counts.get(topic);
    if (count === undefined) {
      count = this.#ask(topic);
      this.#counts.set(topic, count);
    }
    return count;
  }

  /** It may have changed. What cannot be asked now stays as it was. */
  async recount(topic: string): Promise<void> {
    const known = await this.#counts.get(topic);
    const partitions = await this.#options.countPartitions(topic).catch(() => known);
    if (partitions === undefined || partitions === known) return;
    this.#counts.set(topic, Promise.resolve(partitions));
    this.#options.onCount(topic, partitions);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  async #ask(topic: string): Promise<number> {
    const { log } = this.#options;
    for (let failures = 1; ; failures += 1) {
      try {
        const partitions = await this.#options.countPartitions(topic);
        this.#options.onCount(topic, partitions);
        return partitions;
      } catch (error) {
        const { reason, message } = failureOf(error);
        log.warn({ topic, reason, failures }, `Records wait for their topic: ${message}`);
        if (!(await this.#options.pause(backoffMs(failures)))) return new Promise(() => undefined);
      }
    }
  }

  #recountLater(): void {
    this.#timer = this.#options.clock.after(recountAfterMs, () => {
      void Promise.all([...this.#counts.keys()].map((topic) => this.recount(topic)));
      this.#recountLater();
    });
  }
}
