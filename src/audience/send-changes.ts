import type { DuckDBConnection } from '@duckdb/node-api';
import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import type { TraitCalls } from './calls.ts';
import { emit, type OutgoingChange } from './emit.ts';
import { kindOf, readChanges, type Change } from './changes.ts';
import { textColumns } from './database.ts';
import type { Deletions } from './deletions.ts';
import { everyoneRecord, isUpTo, type ToldBaseline } from './everyone.ts';

import { rememberedOf, type Memberships } from './membership.ts';
import type { OpenAudience } from './open-audience.ts';

export interface SendOptions {
  readonly audience: OpenAudience;
  readonly memberships: Memberships;
  /** Undefined: nothing is sent, and only the memberships change. */
  readonly calls: TraitCalls | undefined;
  readonly deletions: Deletions;
  /** All users are sent, except those up to these ids, by partition, which were sent before. */
  readonly everyone:
    { readonly baseline: ToldBaseline; readonly after: ReadonlyMap<number, string> } | undefined;
  readonly membersTopic: string;
  /** The number of changes that are committed together. */
  readonly changesPerTransaction: number;
  readonly onSent: (changes: number) => void;
}

/**
 * Writes the calls and a membership for each change, all in the same transaction. Returns the users that were
 * left out because their calls would be too large.
 */
export async function sendChanges(options: SendOptions): Promise<readonly string[]> {
  const { audience, everyone, membersTopic: topic, onSent } = options;
  const leftOut: string[] = [];
  if (everyone?.after.size === 0) {
    const begun = { ...everyone.baseline, after: '' };
    await audience.write(0, [everyoneRecord(topic, 0, audience.id, begun)]);
  }
  await emit({
    changes: outgoing(options, leftOut),
    mostChanges: options.changesPerTransaction,
    commit: async (partition, { records, lastUserId: after, changes }) => {
      const progress =
        everyone === undefined
          ? []
          : [everyoneRecord(topic, partition, audience.id, { ...everyone.baseline, after })];
      await audience.write(partition, [...records, ...progress]);
      onSent(changes);
    },
  });
  return leftOut;
}

/** Takes over the memberships of an earlier release, before anything else is written about these users. */
export async function adoptFormer(
  { audience, memberships, changesPerTransaction }: SendOptions,
  connection: DuckDBConnection,
): Promise<void> {
  await emit({
    changes: adopted(audience, memberships, connection),
    mostChanges: changesPerTransaction,
    commit: (partition, { records }) => audience.write(partition, records),
  });
}

async function* adopted(
  audience: OpenAudience,
  memberships: Memberships,
  connection: DuckDBConnection,
): AsyncGenerator<OutgoingChange[], void, undefined> {
  const sql =
    'select user_id, value, since_ms::varchar from state.members semi join former using (user_id)';
  for await (const [users = [], values = [], since = []] of textColumns(connection, sql))
    yield users.map((userId, row) => {
      const user = String(userId);
      const partition = audience.partitionOf(user);
      return {
        userId: user,
        partition,
        records: memberships.adopted(partition, user, String(values[row]), Number(since[row])),
      };
    });
}

async function* outgoing(
  options: SendOptions,
  leftOut: string[],
): AsyncGenerator<OutgoingChange[], void, undefined> {
  const { audience, everyone } = options;
  const { connection } = audience.workspace.database;
  const isSorted = everyone !== undefined;
  for await (const changes of readChanges(connection, { isSorted })) {
    const some: OutgoingChange[] = [];
    for (const change of changes) {
      const partition = audience.partitionOf(change.userId);
      const after = everyone?.after.get(partition);
      const isTold = after !== undefined && isUpTo(change.userId, after);
      if (isTold && kindOf(change) === 'baseline') continue;
      const records = recordsOf(options, partition, whetherDeleted(options, change));
      if (records === undefined) leftOut.push(change.userId);
      else some.push({ userId: change.userId, partition, records });
    }
    yield some;
  }
}

/** The user was deleted since this run began, so a call would come after the notification. */
function whetherDeleted({ audience, deletions }: SendOptions, change: Change): Change {
  const deletedMs = deletions.timeMs(change.userId);
  return deletedMs === undefined || deletedMs < audience.sinceMs
    ? change
    : { ...change, deletedMs };
}

/** Undefined if a call would be too large. */
function recordsOf(
  { calls, memberships }: SendOptions,
  partition: number,
  change: Change,
): readonly PlacedRecord[] | undefined {
  const kind = kindOf(change);
  const membership = memberships.record(partition, change.userId, rememberedOf(change));
  if (kind === 'forgotten' || calls === undefined) return [membership];
  const told = calls.of(change);
  if (told === undefined) return undefined;
  return kind === 'baseline' ? told : [...told, membership];
}
