import { DuckDBDataChunkWriter, type DuckDBConnection } from '@duckdb/node-api';
import type { SyncTarget } from '../../src/audience/changes.ts';

/** User ids with the JSON of their values. */
export type Members = ReadonlyMap<string, string>;

export function membersOf(...userIds: readonly string[]): Members {
  return new Map(userIds.map((userId) => [userId, 'true']));
}

export function audience(id: string, changes: Partial<SyncTarget> = {}): SyncTarget {
  return { kind: 'Audience', id, name: 'VIP', trait: 'vip', source: 'shop', ...changes };
}

export function computedTrait(id: string): SyncTarget {
  return { kind: 'ComputedTrait', id, name: 'LTV', trait: 'ltv', source: 'shop' };
}

/** What a reader of files does. */
export async function fillCurrent(connection: DuckDBConnection, members: Members): Promise<void> {
  await connection.run('create table current (user_id varchar, value varchar)');
  const appender = await connection.createAppender('current');
  const writer = DuckDBDataChunkWriter.forAppender(appender);
  for (const row of members) writer.appendRow(row);
  writer.flush();
  appender.closeSync();
}
