import { DuckDBDataChunkWriter, type DuckDBConnection } from '@duckdb/node-api';
import type { KafkaClient } from '../kafka/client.ts';
import { followTable, newestByKey, type FollowedTable } from '../kafka/follow/table.ts';
import type { Logger } from '../ops/log.ts';
import type { Topology } from '../topology.ts';

/**
 * The users that were deleted at a source, followed while a sync runs, so that no call is made for a user who
 * was just deleted.
 */
export class Deletions {
  readonly #prefix: string;
  /** By the keys of their records. */
  readonly #timesMs: FollowedTable<ReadonlyMap<string, number>, string>;

  private constructor(kafka: KafkaClient, topic: string, source: string, log: Logger) {
    this.#prefix = `${source}:`;
    this.#timesMs = followTable(
      kafka,
      { topic, log },
      newestByKey((key, _, timestampMs) =>
        key.startsWith(this.#prefix) ? timestampMs : undefined,
      ),
    );
  }

  /** @throws PostriderError `kafka-unavailable`, `kafka-refused` */
  static async follow(
    kafka: KafkaClient,
    { topics }: Topology,
    source: string,
    log: Logger,
  ): Promise<Deletions> {
    const deletions = new Deletions(kafka, topics.deletions, source, log);
    await deletions.#timesMs.loaded;
    return deletions;
  }

  /** Time of the user's last deletion, by Kafka's clock; undefined: not deleted in the last 44 days. */
  timeMs(userId: string): number | undefined {
    return this.#timesMs.current.get(`${this.#prefix}${userId}`);
  }

  /** Creates the table `deletions (user_id, time_ms)` of the deletions that are known now. */
  async fill(connection: DuckDBConnection): Promise<void> {
    await connection.run('create or replace table deletions (user_id varchar, time_ms double)');
    const appender = await connection.createAppender('deletions');
    const writer = DuckDBDataChunkWriter.forAppender(appender);
    for (const [key, timeMs] of this.#timesMs.current)
      writer.appendRow([key.slice(this.#prefix.length), timeMs]);
    writer.flush();
    appender.closeSync();
  }

  /** Resolves once every deletion that was written before this call is known. */
  caughtUp(): Promise<void> {
    return this.#timesMs.caughtUp();
  }

  stop(): Promise<void> {
    return this.#timesMs.stop();
  }
}
