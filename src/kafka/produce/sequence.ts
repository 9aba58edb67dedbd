import type { ProducerCluster } from '../cluster/writing-cluster.ts';
import { failureOf } from '../failure.ts';
import { backoffMs } from '../retrying.ts';
import type { ProducerIdentity } from '../protocol/produce.ts';
import type { ProducerEvents } from './events.ts';

/**
 * Kafka numbers what a producer writes into a partition, and accepts each number once and in turn. A batch
 * that comes again, because its answer was lost, is therefore not written again.
 */
export interface Sequence {
  readonly producerId: number;
  readonly epoch: number;
  /** Number of the next record. */
  readonly next: number;
}

const largestNumber = 2 ** 31 - 1;
const largestEpoch = 2 ** 15 - 1;

export function firstSequence({ id, epoch }: ProducerIdentity): Sequence {
  return { producerId: id, epoch, next: 0 };
}

/** The sequence after so many more records in the log. Zero follows the largest number. */
export function sequenceAfter(sequence: Sequence, records: number): Sequence {
  const { producerId, epoch, next } = sequence;
  return { producerId, epoch, next: (next + records) % (largestNumber + 1) };
}

/**
 * For a partition that has lost this producer's state, or has another history of it. A producer without
 * transactions may begin an epoch by itself; undefined: no epoch is left, and another id is needed.
 */
export function nextEpoch({ producerId, epoch }: Sequence): Sequence | undefined {
  return epoch >= largestEpoch ? undefined : { producerId, epoch: epoch + 1, next: 0 };
}

export interface ProducerIdOptions {
  readonly cluster: ProducerCluster;
  readonly events: ProducerEvents;
  /** Resolves to false after a stop. */
  pause(ms: number): Promise<boolean>;
}

/** The producer id that sequences begin with. */
export class ProducerId {
  known: ProducerIdentity | undefined;
  readonly #options: ProducerIdOptions;
  #asked: Promise<ProducerIdentity | undefined> | undefined;

  constructor(options: ProducerIdOptions) {
    this.#options = options;
  }

  /**
   * Requests an id from Kafka until there is one, once for all callers. Undefined after a stop.
   * @param topics the topics of the waiting records
   */
  async ask(topics: readonly string[]): Promise<ProducerIdentity | undefined> {
    this.#asked ??= this.#askUntilThere(topics).finally(() => {
      this.#asked = undefined;
    });
    return this.#asked;
  }

  /** The id's epochs are used up in one partition. Other partitions continue with it. */
  replace(): void {
    this.known = undefined;
  }

  async #askUntilThere(topics: readonly string[]): Promise<ProducerIdentity | undefined> {
    const { cluster, events } = this.#options;
    for (let failures = 1; ; failures += 1) {
      try {
        this.known = await cluster.initProducerId();
        return this.known;
      } catch (error) {
        events.unidentified(failureOf(error), { failures, topics });
      }
      if (!(await this.#options.pause(backoffMs(failures)))) return undefined;
    }
  }
}
