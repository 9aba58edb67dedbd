import { PostriderError } from '../../errors.ts';
import { followTable } from '../../kafka/follow/table.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import { requireTopics } from '../require-topics.ts';
import type { ConfigTopicAccess } from './config-topic.ts';
import type { SecretKeys } from './secrets.ts';
import {
  decodeResource,
  encodeResource,
  needsNewKey,
  openResource,
  parseRecordKey,
} from './stored.ts';

interface RotateOptions extends ConfigTopicAccess {
  readonly producer: Pick<Producer, 'send'>;
  readonly secretKeys: SecretKeys;
}

interface Rotated {
  /** Record keys, `<kind>/<id>`, of resources that were encrypted again. */
  readonly rewritten: readonly string[];
  /** Why other resources could not be read, one sentence each. They stay as they are. */
  readonly unreadable: readonly string[];
}

/**
 * Encrypts everything in the `config` topic with the current key, reads the topic again, and repeats until
 * nothing is left to do. May be interrupted and repeated at any time, because each record is complete.
 * @throws PostriderError `not-found` without the topic, `secret-unreadable` without a SECRET_KEY
 */
export async function rotateSecrets(options: RotateOptions): Promise<Rotated> {
  const { kafka, topology, log, producer, secretKeys } = options;
  const topic = topology.topics.config;
  await requireTopics(kafka, [{ name: topic }]);
  const table = followTable(
    kafka,
    { topic, log },
    {
      create: () => new Rotation(secretKeys),
      apply: (rotation, { key, value }) => {
        rotation.accept(key?.toString() ?? '', value?.toString() ?? null);
      },
    },
  );
  const rewritten = new Set<string>();
  try {
    for (;;) {
      await table.caughtUp();
      const rotation = table.current;
      const { rewrites, unreadable } = rotation.plan();
      if (rewrites.length === 0) return { rewritten: [...rewritten], unreadable };
      rotation.begin(rewrites);
      await producer.send(rewrites.map((rewrite) => ({ topic, partition: 0, ...rewrite })));
      for (const { key } of rewrites) rewritten.add(key);
    }
  } finally {
    await table.stop();
  }
}

/** A record of the `config` topic to write; a null value deletes. */
export interface Rewrite {
  readonly key: string;
  readonly value: string | null;
}

/** The work that is left, as far as the topic has been read. */
interface RotationPlan {
  readonly rewrites: readonly Rewrite[];
  /** Resources that neither key can read: why, one sentence each. */
  readonly unreadable: readonly string[];
}

/**
 * Follows the raw records of the `config` topic while they are encrypted again. A resource may be written
 * after it was read here and before its rewrite arrives, which would undo that change. Such a rewrite is
 * recognized when it comes by, and the other version is written once more. Contains no Kafka.
 */
export class Rotation {
  readonly #keys: SecretKeys;
  /** By record key, the last version that others wrote; null for a deletion. */
  readonly #versions = new Map<string, string | null>();
  readonly #written = new Map<
    string,
    { readonly from: string | null; readonly to: string | null }
  >();
  readonly #undone = new Set<string>();

  constructor(keys: SecretKeys) {
    this.#keys = keys;
  }

  /** Processes every record of the topic, in order. */
  accept(key: string, value: string | null): void {
    const own = this.#written.get(key);
    if (own !== undefined && own.to === value && this.#versions.get(key) !== own.from) {
      this.#undone.add(key);
      return;
    }
    this.#undone.delete(key);
    this.#versions.set(key, value);
  }

  plan(): RotationPlan {
    const rewrites: Rewrite[] = [];
    const unreadable: string[] = [];
    for (const [key, value] of this.#versions) {
      try {
        const encrypted = value === null ? null : encryptAnew(key, value, this.#keys);
        if (encrypted !== value || this.#undone.has(key)) rewrites.push({ key, value: encrypted });
      } catch (error) {
        if (!(error instanceof PostriderError)) throw error;
        unreadable.push(error.message);
        if (this.#undone.has(key)) rewrites.push({ key, value });
      }
    }
    return { rewrites, unreadable };
  }

  /** To be called before they are written. */
  begin(rewrites: readonly Rewrite[]): void {
    for (const { key, value } of rewrites) {
      this.#written.set(key, { from: this.#versions.get(key) ?? null, to: value });
    }
  }
}

/** Returns the same text if nothing is encrypted with another key than the current one. */
function encryptAnew(key: string, value: string, keys: SecretKeys): string {
  const name = parseRecordKey(key);
  if (name === undefined) {
    const message = `the config topic's record ${JSON.stringify(key.slice(0, 100))} is of a kind unknown to this version`;
    throw new PostriderError('resource-invalid', message);
  }
  const sealed = decodeResource(name, value);
  return needsNewKey(sealed, keys) ? encodeResource(openResource(sealed, keys), keys) : value;
}
