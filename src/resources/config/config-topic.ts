import { PostriderError } from '../../errors.ts';
import { withAdmin } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { followTable, newestByKey } from '../../kafka/follow/table.ts';
import type { Logger } from '../../ops/log.ts';
import type { Topology } from '../../topology.ts';
import { missingTopics } from '../require-topics.ts';
import type { Source } from '../resource.ts';
import {
  decodeStored,
  notStored,
  readableOfKind,
  type StoredResources,
} from './stored-resources.ts';

export interface ConfigTopicAccess {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly log: Logger;
}

/** The content of the `config` topic, followed without a secret key, so secrets stay sealed. */
export interface FollowedResources {
  readonly resources: StoredResources;
  /** The offset up to which the topic has been read. */
  readonly offset: number;
  /** Resolves once nothing that was written 2 s ago is missing. */
  fresh(): Promise<void>;
  /** Resolves once nothing is missing that was written before this call. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Resolves once everything that was in the `config` topic when this was called is there.
 * @throws PostriderError `not-found` without the topic, `kafka-unavailable`
 */
export async function followStoredResources(access: ConfigTopicAccess): Promise<FollowedResources> {
  const { kafka, topology, log } = access;
  await requireTopic(kafka, topology.topics.config);
  const table = followTable(
    kafka,
    { topic: topology.topics.config, log },
    newestByKey((key, value) => decodeStored(key, value.toString())),
  );
  await table.loaded;
  return {
    get resources() {
      return table.current;
    },
    get offset() {
      return table.position();
    },
    fresh: async () => {
      if (!table.isFresh()) await table.caughtUp();
    },
    caughtUp: () => table.caughtUp(),
    stop: () => table.stop(),
  };
}

/**
 * Everything that was in the `config` topic when this was called.
 * @throws PostriderError `not-found` without the topic, `kafka-unavailable`
 */
export async function readStoredResources(access: ConfigTopicAccess): Promise<StoredResources> {
  const followed = await followStoredResources(access);
  await followed.stop();
  return followed.resources;
}

/**
 * Without this check, a follower would wait for the topic, which is right for a role and wrong for a command.
 */
async function requireTopic(kafka: KafkaClient, topic: string): Promise<void> {
  const existing = await withAdmin(kafka, (admin) => admin.describeTopics([topic]));
  if (existing.has(topic)) return;
  throw new PostriderError('not-found', missingTopics([topic]));
}

/**
 * The source as it is stored now. Needs no secret key.
 * @throws PostriderError `not-found`, which lists the existing sources
 */
export async function findSource(access: ConfigTopicAccess, id: string): Promise<Source> {
  const sources = readableOfKind(await readStoredResources(access), 'Source');
  const found = sources.find((source) => source.id === id);
  if (found !== undefined) return found;
  throw notStored(
    'source',
    id,
    sources.map((source) => source.id),
  );
}
