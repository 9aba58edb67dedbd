import { DuckDBDataChunkWriter, type DuckDBConnection } from '@duckdb/node-api';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { readRange } from '../kafka/read-range.ts';
import { userOfMembership } from './membership.ts';
import type { SyncTarget } from './sync-target.ts';

export interface ReplayOptions {
  readonly kafka: KafkaClient;
  readonly connection: DuckDBConnection;
  /** `audience-members` */
  readonly topic: string;
  readonly target: SyncTarget;
  /** By partition; one that is not there is read from its beginning. */
  readonly positions: ReadonlyMap<number, number>;
  /** Where each ends; those that are not there are not read. */
  readonly ends: ReadonlyMap<number, number>;
  readonly onRecord: () => void;
}

/**
 * Brings `state.members` from its positions to the ends. Of a user only the last record counts, and all
 * of a user's are in one partition.
 */
export async function replay(options: ReplayOptions): Promise<void> {
  const { connection } = options;
  await connection.run(
    'create or replace table replayed (place double, user_id varchar, value varchar)',
  );
  const count = await collect(options);
  if (count > 0) await connection.run(apply);
  await connection.run('drop table replayed');
}

/** Not with arg_max, which keeps every value in memory. */
const apply = `
  create or replace table latest as
    select user_id, value from replayed
    join (select user_id, max(place) as place from replayed group by user_id)
      using (user_id, place);
  delete from state.members where user_id in (select user_id from latest);
  insert into state.members select user_id, value from latest where value is not null;
  drop table latest`;

/** About ten thousand records, each of which takes 20 bytes on the way and 500 in memory. */
const maxFetchBytes = 256 * 1024;

async function collect(options: ReplayOptions): Promise<number> {
  const { kafka, connection, topic, target, positions, ends, onRecord } = options;
  const kept = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const ranges = kept.flatMap(({ partition, start }) => {
    const end = ends.get(partition);
    if (end === undefined) return [];
    return [{ partition, start: Math.max(start, positions.get(partition) ?? start), end }];
  });
  const appender = await connection.createAppender('replayed');
  const writer = DuckDBDataChunkWriter.forAppender(appender);
  let count = 0;
  for await (const { offset, key, value } of readRange(kafka, { topic, ranges, maxFetchBytes })) {
    onRecord();
    const userId = userOfMembership(target, key);
    if (userId === undefined) continue;
    writer.appendRow([offset, userId, value === null ? null : value.toString()]);
    count += 1;
  }
  writer.flush();
  appender.closeSync();
  return count;
}
