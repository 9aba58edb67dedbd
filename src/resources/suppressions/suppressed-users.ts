import type { Call } from '../../event/call.ts';
import { textOf } from '../../event/check-call.ts';
import { writable } from '../../event/sought.ts';
import type { ClusterClient } from '../../kafka/cluster/cluster.ts';
import { followTable, newestByKey, type TableRules } from '../../kafka/follow/table.ts';
import { readRange } from '../../kafka/read-range.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { Topology } from '../../topology.ts';
import type { ConfigTopicAccess } from '../config/config-topic.ts';

/** The users whose calls are not routed, by id, and since when: epoch milliseconds, by Kafka's clock. */
export type SuppressedUsers = Pick<ReadonlyMap<string, number>, 'get' | 'size'>;

/** A suppressed user whom a call is about. */
export interface Suppressed {
  readonly id: string;
  readonly sinceMs: number;
}

/**
 * The suppressed user whom the call is about, by any of its ids: `userId`, `anonymousId`, and an alias by its
 * `previousId`. Which anonymous ids are a user's own, nobody here knows.
 */
export function suppressedBy(users: SuppressedUsers, call: Call): Suppressed | undefined {
  if (users.size === 0) return undefined;
  const { type, userId, anonymousId, fields } = call;
  const previousId = type === 'alias' ? textOf(fields['previousId']) : undefined;
  for (const given of [userId, anonymousId, previousId]) {
    if (given === undefined) continue;
    const id = writable(given);
    const sinceMs = users.get(id);
    if (sinceMs !== undefined) return { id, sinceMs };
  }
  return undefined;
}

interface FollowedSuppressions {
  readonly users: SuppressedUsers;
  stop(): Promise<void>;
}

/** The rules of a table of who is suppressed. */
export const suppressions: TableRules<Map<string, number>, string> = newestByKey(
  (_id, _value, timestampMs) => timestampMs,
);

/** Loads all suppressed users and follows the topic `suppressions` from there on. */
export async function followSuppressions({
  kafka,
  topology,
  log,
}: ConfigTopicAccess): Promise<FollowedSuppressions> {
  const topic = topology.topics.suppressions;
  const table = followTable(kafka, { topic, maxWaitMs: 500, log }, suppressions);
  await table.loaded;
  return {
    users: {
      get: (id) => table.current.get(id),
      get size() {
        return table.current.size;
      },
    },
    stop: () => table.stop(),
  };
}

/** @throws PostriderError `kafka-unavailable`, `kafka-refused`; `not-found` where the topic does not exist yet */
export async function readSuppressions(
  kafka: ClusterClient,
  { topics }: Pick<Topology, 'topics'>,
): Promise<ReadonlyMap<string, number>> {
  const users = suppressions.create(undefined);
  for await (const record of readRange(kafka, { topic: topics.suppressions }))
    suppressions.apply(users, record);
  return users;
}

/** @param time of the request, for people: ISO 8601; undefined: the user is suppressed no more */
export function suppressionRecord(
  topic: string,
  userId: string,
  time: string | undefined,
): OutgoingRecord {
  const value = time === undefined ? null : JSON.stringify({ time });
  return { topic, key: writable(userId), value };
}
