import { DuckDBDataChunkWriter, type DuckDBConnection } from '@duckdb/node-api';
import type { KafkaClient } from '../kafka/client.ts';
import { loadFollower, type Follower } from '../kafka/follow/follower.ts';
import type { Logger } from '../ops/log.ts';
import type { Topology } from '../topology.ts';

/**
 * The users that were deleted at a source, followed while a sync runs, so that no call is made for a user who
 * was just deleted.
 */
export class Deletions {
  readonly #timesMs = new Map<string, number>();
  readonly #prefix: string;
  #follower: Follower | undefined;

  private constructor(source: string) {
    this.#prefix = `${source}:`;
  }

  /** @throws PostriderError `kafka-unavailable`, `kafka-refused` */
  static async follow(
    kafka: KafkaClient,
    { topics }: Topology,
    source: string,
    log: Logger,
  ): Promise<Deletions> {
    const deletions = new Deletions(source);
    deletions.#follower = await loadFollower(kafka, {
      topic: topics.deletions,
      log,
      onRecord: ({ key, value, timestampMs }) => {
        deletions.#accept(key?.toString() ?? '', value === null ? undefined : timestampMs);
      },
      onRestart: () => {
        deletions.#timesMs.clear();
      },
    });
    return deletions;
  }

  /** Time of the user's last deletion, by Kafka's clock; undefined: not deleted in the last 44 days. */
  timeMs(userId: string): number | undefined {
    return this.#timesMs.get(userId);
  }

  /** Creates the table `deletions (user_id, time_ms)` of the deletions that are known now. */
  async fill(connection: DuckDBConnection): Promise<void> {
    await connection.run('create or replace table deletions (user_id varchar, time_ms double)');
    const appender = await connection.createAppender('deletions');
    const writer = DuckDBDataChunkWriter.forAppender(appender);
    for (const [userId, timeMs] of this.#timesMs) writer.appendRow([userId, timeMs]);
    writer.flush();
    appender.closeSync();
  }

  /** Resolves once every deletion that was written before this call is known. */
  async caughtUp(): Promise<void> {
    await this.#follower?.caughtUp();
  }

  async stop(): Promise<void> {
    await this.#follower?.stop();
  }

  #accept(key: string, timeMs: number | undefined): void {
    if (!key.startsWith(this.#prefix)) return;
    const userId = key.slice(this.#prefix.length);
    if (timeMs === undefined) this.#timesMs.delete(userId);
    else this.#timesMs.set(userId, timeMs);
  }
}
