import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../../errors.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { ExclusiveWriter } from '../../kafka/produce/exclusive-writer.ts';
import type { Logger } from '../../ops/log.ts';
import type { Topology } from '../../topology.ts';
import type { FollowedTopic } from './config-topic.ts';

/** A record of the `config` topic to write; a null value deletes. */
export interface ConfigRecord {
  readonly key: string;
  readonly value: string | null;
}

/** A caller's decision on everything that is stored. */
export interface Decision<T> {
  /** None: nothing is written. */
  readonly records: readonly ConfigRecord[];
  readonly result: T;
  /** Done before the records are written, such as an entry in the audit; again with every decision. */
  readonly before?: () => Promise<void>;
}

export interface Changed<T> {
  readonly result: T;
  /** A reader of the topic up to this offset has the change. */
  readonly offset: number;
}

export interface ConfigWriterAccess {
  readonly kafka: KafkaClient;
  readonly topology: Pick<Topology, 'topics' | 'configWriter'>;
  readonly log: Logger;
}

type Followed = Pick<
  FollowedTopic<unknown>,
  'offset' | 'changes' | 'writer' | 'claimedMs' | 'reached'
>;

/** Commands wait as long for Kafka. */
const patienceMs = 10_000;
/**
 * Processes that change resources at the same time take turns: whoever has claimed the topic is left alone for this
 * long, in which it writes all that waits there. Otherwise each would fence the other before that has written anything.
 */
const turnMs = 100;

/**
 * Changes resources by what is stored, with nobody else between: what is decided on is what the topic has when the
 * decision is written. Others, on whatever machine, may change resources at the same time; whoever comes second
 * decides again. Changes of this one happen one after the other.
 */
export class ConfigWriter {
  readonly #followed: Followed;
  readonly #writer: ExclusiveWriter;
  readonly #log: Logger;
  #last: Promise<unknown> = Promise.resolve();

  /** @param followed stays the caller's to stop */
  constructor({ kafka, topology, log }: ConfigWriterAccess, followed: Followed) {
    this.#followed = followed;
    this.#log = log;
    this.#writer = new ExclusiveWriter(kafka, {
      topic: topology.topics.config,
      transactionalId: topology.configWriter,
    });
  }

  /**
   * Resolves when every role can read the change, and `followed` has it.
   * @param decide is called again when what is stored has changed meanwhile
   * @throws PostriderError `busy` if others wrote at every attempt, `kafka-unavailable`: it may be written or not;
   * `kafka-refused`, `record-refused`; whatever `decide` and `before` throw
   */
  async change<T>(decide: () => Decision<T> | Promise<Decision<T>>): Promise<Changed<T>> {
    const change = this.#last.then(() => this.#change(decide));
    this.#last = change.catch(() => undefined);
    return change;
  }

  /**
   * For a caller whose decision is rather to write than not, or whose refusals must be right: resolves when everything
   * that others wrote is known here, and no others write. Called while deciding.
   * @throws PostriderError `fenced` while others write, so that `change` decides again
   */
  async hold(): Promise<void> {
    if (this.#writer.holds) return;
    if (await this.#leftTheirTurn())
      throw new PostriderError('fenced', 'another process changes resources now');
    const offset = await this.#writer.claim(this.#followed.writer);
    await this.#followed.reached(offset + 1);
  }

  /** Ends what is written now. */
  close(): void {
    this.#writer.close();
  }

  /** Resolves to true after a wait for another process that has just claimed the topic. */
  async #leftTheirTurn(): Promise<boolean> {
    const { writer, claimedMs } = this.#followed;
    const leftMs = claimedMs + turnMs - performance.now();
    if (writer === undefined || leftMs <= 0 || this.#writer.is(writer)) return false;
    await delay(leftMs + turnMs * Math.random());
    return true;
  }

  async #change<T>(decide: () => Decision<T> | Promise<Decision<T>>): Promise<Changed<T>> {
    let decided: Decision<T> | undefined;
    let decidedAt = -1;
    const untilMs = performance.now() + patienceMs;
    while (performance.now() < untilMs) {
      try {
        if (decided === undefined || decidedAt !== this.#followed.changes) {
          decidedAt = this.#followed.changes;
          decided = await decide();
        }
        const { records, result, before } = decided;
        if (records.length === 0) return { result, offset: this.#followed.offset };
        if (!this.#writer.holds) {
          await this.hold();
          if (decidedAt !== this.#followed.changes) continue;
        }
        decided = undefined;
        await before?.();
        const offset = await this.#writer.append(records);
        await this.#followed.reached(offset);
        return { result, offset };
      } catch (error) {
        if (!(error instanceof PostriderError && error.code === 'fenced')) throw error;
        this.#log.debug({}, 'another process changes resources too; deciding again');
      }
    }
    throw new PostriderError(
      'busy',
      'others change resources at the same time, and nothing was changed; try again in a moment',
    );
  }
}
