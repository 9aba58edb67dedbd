import type { DuckDBConnection } from '@duckdb/node-api';
import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import { readChanges } from './changes.ts';
import { emit, type OutgoingChange } from './emit.ts';
import type { IdentifyCalls } from './identify.ts';
import { membershipRecord } from './membership.ts';
import { kindOf, type SyncTarget } from './sync-target.ts';

export interface SendOptions {
  readonly connection: DuckDBConnection;
  readonly target: SyncTarget;
  readonly calls: IdentifyCalls;
  readonly membersTopic: string;
  /** Of `audience-members`. */
  readonly partitionOf: (userId: string) => number;
  /** Commits them together. */
  readonly write: (partition: number, records: readonly PlacedRecord[]) => Promise<void>;
  /** What is committed together. */
  readonly changesPerTransaction: number;
  readonly onSent: (changes: number) => void;
}

/**
 * Writes a call and what is to be remembered for each change, both in the same transaction. Returns the
 * users who were left out because their calls would be too large.
 */
export async function sendChanges(options: SendOptions): Promise<readonly string[]> {
  const { write, onSent } = options;
  const leftOut: string[] = [];
  await emit({
    changes: outgoing(options, leftOut),
    mostChanges: options.changesPerTransaction,
    commit: async (partition, batch) => {
      await write(partition, batch.records);
      onSent(batch.changes);
    },
  });
  return leftOut;
}

async function* outgoing(
  { connection, target, calls, membersTopic, partitionOf }: SendOptions,
  leftOut: string[],
): AsyncGenerator<OutgoingChange[], void, undefined> {
  for await (const changes of readChanges(connection)) {
    const some: OutgoingChange[] = [];
    for (const change of changes) {
      const call = calls.of(change);
      if (call === undefined) {
        leftOut.push(change.userId);
        continue;
      }
      const partition = partitionOf(change.userId);
      const isKnown = kindOf(change) === 'baseline';
      const membership = membershipRecord(membersTopic, partition, target, change);
      some.push({ partition, records: isKnown ? [call] : [call, membership] });
    }
    yield some;
  }
}
