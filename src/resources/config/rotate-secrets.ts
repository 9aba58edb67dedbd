import { followTable } from '../../kafka/follow/table.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { ConfigTopicAccess } from './config-topic.ts';
import { requireTopics } from '../require-topics.ts';
import { Rotation } from './rotation.ts';
import type { SecretKeys } from './secrets.ts';

export interface RotateOptions extends ConfigTopicAccess {
  readonly producer: Pick<Producer, 'send'>;
  readonly secretKeys: SecretKeys;
}

export interface Rotated {
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
