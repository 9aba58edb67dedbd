import { PostriderError } from '../../errors.ts';
import { withAdmin } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import type { ProducerIdentity } from '../../kafka/protocol/produce.ts';
import { claimKey, writerOf } from '../../kafka/produce/exclusive-writer.ts';
import { followTable, newestByKey } from '../../kafka/follow/table.ts';
import type { Logger } from '../../ops/log.ts';
import type { Topology } from '../../topology.ts';
import { missingTopics } from '../require-topics.ts';
import type { Source } from '../resource.ts';
import {
  decodeStored,
  notStored,
  readableOfKind,
  type StoredResource,
  type StoredResources,
} from './stored-resources.ts';

export interface ConfigTopicAccess {
  /** The time for which brokers may wait for a record before they answer that there is none. */
  readonly maxWaitMs?: number;
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly log: Logger;
}

/** The content of the `config` topic, followed without a secret key, so secrets stay sealed. */
export interface FollowedTopic<V> {
  /** By record key, `<kind>/<id>`. */
  readonly resources: ReadonlyMap<string, V>;
  /** The offset up to which the topic has been read. */
  readonly offset: number;
  /** Nothing was ever written to the topic. */
  readonly isUntouched: boolean;
  /** The number of records that have changed resources so far. */
  readonly changes: number;
  /** The writer of the newest record; undefined: none that writes exclusively. */
  readonly writer: ProducerIdentity | undefined;
  /** The steady time at which the last claim of the topic came here; before it was loaded: long ago. */
  readonly claimedMs: number;
  /** Calls back with the record key, `<kind>/<id>`, of each resource that changes from now on. */
  onChange(listener: (key: string) => void): void;
  /** Resolves once nothing that was written 2 s ago is missing. */
  fresh(): Promise<void>;
  /** Resolves once nothing is missing that was written before this call. */
  caughtUp(): Promise<void>;
  /**
   * Resolves once everything before that offset is here: sooner than `caughtUp`, which asks the brokers for the end.
   * @throws PostriderError `kafka-unavailable` after ten seconds
   */
  reached(offset: number): Promise<void>;
  stop(): Promise<void>;
}

export type FollowedResources = FollowedTopic<StoredResource>;

/**
 * Lends the stored resources to `use`; nothing is missing that was written 2 s before. A process that follows the topic
 * anyway lends what it has: to read the topic takes the longer, the more destinations there are.
 * @throws PostriderError `not-found` without the topic, `kafka-unavailable`
 */
export type WithConfig = <T>(use: (config: LentResources) => Promise<T>) => Promise<T>;

export type LentResources = Pick<FollowedResources, 'resources' | 'offset' | 'fresh'>;

/**
 * Resolves once everything that was in the `config` topic when this was called is there.
 * @throws PostriderError `not-found` without the topic, `kafka-unavailable`
 */
export async function followStoredResources(access: ConfigTopicAccess): Promise<FollowedResources> {
  return followConfigTopic(access, (key, value) => decodeStored(key, value.toString()));
}

/**
 * The same, as the caller reads each record.
 * @param decode undefined: the record is not there
 * @throws PostriderError `not-found` without the topic, `kafka-unavailable`
 */
export async function followConfigTopic<V>(
  access: ConfigTopicAccess,
  decode: (key: string, value: Buffer) => V | undefined,
): Promise<FollowedTopic<V>> {
  const { kafka, topology, log, maxWaitMs } = access;
  await requireTopic(kafka, topology.topics.config);
  const newest = newestByKey(decode);
  const arrivals = new Arrivals();
  let isLoaded = false;
  let [changes, claims] = [0, 0];
  let writer: ProducerIdentity | undefined;
  let claimedMs = -Infinity;
  const table = followTable(
    kafka,
    { topic: topology.topics.config, log, ...(maxWaitMs === undefined ? {} : { maxWaitMs }) },
    {
      ...newest,
      apply: (resources, record) => {
        writer = writerOf(record.headers);
        arrivals.come(record.offset + 1);
        if (record.key?.toString() === claimKey) {
          claims += 1;
          claimedMs = isLoaded ? performance.now() : -Infinity;
          return undefined;
        }
        changes += 1;
        return newest.apply(resources, record);
      },
    },
  );
  await table.loaded;
  isLoaded = true;
  return {
    get resources() {
      return table.current;
    },
    get offset() {
      return table.position();
    },
    // Claims that were compacted away leave a gap, as everything else does.
    get isUntouched() {
      return table.position() <= claims;
    },
    get changes() {
      return changes;
    },
    get writer() {
      return writer;
    },
    get claimedMs() {
      return claimedMs;
    },
    onChange: (listener) => {
      table.onChange(listener);
    },
    fresh: async () => {
      if (!table.isFresh()) await table.caughtUp();
    },
    caughtUp: () => table.caughtUp(),
    reached: async (offset) => {
      if (offset > table.position()) await arrivals.of(offset);
    },
    stop: () => table.stop(),
  };
}

const patienceMs = 10_000;

/** Waits for records to come. */
class Arrivals {
  readonly #waiting = new Set<{ readonly offset: number; readonly resolve: () => void }>();

  /** Everything before that offset is here. */
  come(offset: number): void {
    for (const each of this.#waiting) if (each.offset <= offset) each.resolve();
  }

  of(offset: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
      };
      const timer = setTimeout(() => {
        end();
        const message = 'what was written to the config topic does not come back from Kafka';
        reject(new PostriderError('kafka-unavailable', message));
      }, patienceMs);
      const waiting = {
        offset,
        resolve: () => {
          end();
          resolve();
        },
      };
      this.#waiting.add(waiting);
    });
  }
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

/** Reads the topic each time, in a process that does not follow it anyway. */
export function configFromTopic(access: ConfigTopicAccess): WithConfig {
  return async (use) => {
    const followed = await followStoredResources(access);
    try {
      return await use(followed);
    } finally {
      await followed.stop();
    }
  };
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
