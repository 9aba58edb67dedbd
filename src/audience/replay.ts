import { DuckDBDataChunkWriter, type DuckDBConnection } from '@duckdb/node-api';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { readRange } from '../kafka/read-range.ts';
import { everyoneKey } from './everyone.ts';
import { sinceHeader, type Memberships } from './membership.ts';

export interface ReplayOptions {
  readonly kafka: KafkaClient;
  readonly connection: DuckDBConnection;
  /** `audience-members` */
  readonly topic: string;
  readonly memberships: Memberships;
  readonly id: string;
  /** By partition; a missing one is read from its beginning. */
  readonly positions: ReadonlyMap<number, number>;
  /** The end of each partition; missing ones are not read. */
  readonly ends: ReadonlyMap<number, number>;
  readonly onRecord: () => void;
}

/**
 * Brings `state.members` from its positions to the ends. Only a user's last record counts, and all of a
 * user's records are in one partition; the same holds for `state.everyone`. Leaves users that are known only
 * from an earlier release as `former (user_id)`.
 */
export async function replay(options: ReplayOptions): Promise<void> {
  const { connection } = options;
  await connection.run(`
    create or replace table replayed
      (place double, user_id varchar, value varchar, since_ms double, is_former boolean);
    create or replace table former (user_id varchar)`);
  const count = await collect(options);
  if (count > 0) await connection.run(apply);
  await connection.run('drop table replayed');
}

/** Without arg_max, which would keep every value in memory. */
const apply = `
  create or replace table latest as
    select user_id, value, since_ms, is_former from replayed
    join (select user_id, max(place) as place from replayed group by user_id)
      using (user_id, place);
  insert into former select user_id from latest where is_former and value is not null;
  delete from state.members where user_id in (select user_id from latest);
  insert into state.members select user_id, value, since_ms from latest where value is not null;
  drop table latest`;

/** About ten thousand records, each of which takes 20 bytes in transit and 500 in memory. */
const maxFetchBytes = 256 * 1024;

async function collect(options: ReplayOptions): Promise<number> {
  const { kafka, connection, topic, memberships, positions, ends, onRecord } = options;
  const kept = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const ranges = kept.flatMap(({ partition, start }) => {
    const end = ends.get(partition);
    if (end === undefined) return [];
    return [{ partition, start: Math.max(start, positions.get(partition) ?? start), end }];
  });
  const appender = await connection.createAppender('replayed');
  const writer = DuckDBDataChunkWriter.forAppender(appender);
  const everyone = Buffer.from(everyoneKey(options.id));
  const progress = new Map<number, string | undefined>();
  let count = 0;
  for await (const record of readRange(kafka, { topic, ranges, maxFetchBytes })) {
    onRecord();
    const { offset, key, value, timestampMs, headers, partition } = record;
    if (key === null) continue;
    if (key.equals(everyone)) progress.set(partition, value?.toString());
    const present = memberships.userOf(key);
    const userId = present ?? memberships.formerUserOf(key);
    if (userId === undefined) continue;
    const since = headers[sinceHeader];
    const sinceMs = since === undefined ? timestampMs : Number(since);
    const text = value === null ? null : value.toString();
    writer.appendRow([offset, userId, text, sinceMs, present === undefined]);
    count += 1;
  }
  writer.flush();
  appender.closeSync();
  for (const [partition, text] of progress) {
    await connection.run('delete from state.everyone where part = $1', [partition]);
    if (text !== undefined)
      await connection.run('insert into state.everyone values ($1, $2)', [partition, text]);
  }
  return count;
}
