import { randomUUID } from 'node:crypto';
import { decodeAuditEntry, type AuditEntry } from '../../event/audit-entry.ts';
import { loadFollower, type Follower } from '../../kafka/follow/follower.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { inTime } from '../api/in-time.ts';

export interface AuditDeps {
  readonly kafka: KafkaClient;
  readonly topic: string;
  readonly producer: Pick<Producer, 'send'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** People do this, not machines: a year of it fits. */
const mostShown = 10_000;

const notDone = 'not done: Kafka did not answer in time';

/** Who did what: written before it is done, so that nothing is done that is not written. */
export class Audit {
  readonly #deps: AuditDeps;
  readonly #follower: Follower;
  readonly #entries: AuditEntry[];

  private constructor(deps: AuditDeps, follower: Follower, entries: AuditEntry[]) {
    this.#deps = deps;
    this.#follower = follower;
    this.#entries = entries;
  }

  static async follow(deps: AuditDeps): Promise<Audit> {
    const entries: AuditEntry[] = [];
    const follower = await loadFollower(deps.kafka, {
      topic: deps.topic,
      log: deps.log,
      maxWaitMs: 500,
      onRecord: ({ value }) => {
        const entry = decodeAuditEntry(value);
        if (entry !== undefined) entries.push(entry);
        if (entries.length > mostShown) entries.shift();
      },
      onRestart: () => {
        entries.length = 0;
      },
    });
    return new Audit(deps, follower, entries);
  }

  /** The newest first. */
  entries(): readonly AuditEntry[] {
    return this.#entries.toReversed();
  }

  /**
   * Resolves when Kafka has it. An entry that Kafka takes too late for whoever asked is followed by one that says
   * that nothing was done.
   * @throws ProblemError 503 when Kafka has not taken it within ten seconds
   */
  async write(entry: Omit<AuditEntry, 'id' | 'at'>): Promise<void> {
    const writing = this.#append(entry);
    try {
      await inTime(writing);
    } catch (error) {
      void writing.then(() => this.#append({ ...entry, detail: notDone })).catch(() => undefined);
      throw error;
    }
  }

  /**
   * How something ended that an operator did. However long Kafka is away, it is written when it is back: nobody waits
   * for it.
   */
  tell(entry: Omit<AuditEntry, 'id' | 'at'>, error?: unknown): void {
    // What can never be written was logged by the producer, and the action is over in any case.
    this.#append(entry, error).catch(() => undefined);
  }

  async #append(entry: Omit<AuditEntry, 'id' | 'at'>, error?: unknown): Promise<void> {
    const { producer, topic, clock, log } = this.#deps;
    const at = new Date(clock.now()).toISOString();
    const why = error === undefined ? {} : { err: error };
    log.info({ ...entry, ...why }, 'an operator acts in the console');
    const value = JSON.stringify({ id: randomUUID(), at, ...entry } satisfies AuditEntry);
    await producer.send([{ topic, key: entry.user, value }]);
  }

  stop(): Promise<void> {
    return this.#follower.stop();
  }
}
