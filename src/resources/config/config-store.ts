import { PostriderError } from '../../errors.ts';
import { startFollower } from '../../kafka/follow/follower.ts';
import { nameOfDestination } from '../notice-hook.ts';
import { ConfigRecords } from './config-records.ts';
import type { Config, ConfigChange } from './config.ts';
import type { ConfigTopicAccess } from './config-topic.ts';
import type { SecretKeys } from './secrets.ts';

export interface ConfigOptions extends ConfigTopicAccess {
  /** Undefined: nobody here needs secrets, and a mask stands in the place of each. */
  readonly secretKeys: SecretKeys | undefined;
}

/**
 * Loads the snapshot of all resources and follows the `config` topic from there on.
 * @throws PostriderError `secret-unreadable` if no secret in it can be read with these keys
 */
export async function startConfig(options: ConfigOptions): Promise<Config> {
  const { kafka, topology, log } = options;
  const records = new ConfigRecords(options.secretKeys, log);
  const listeners: ((change: ConfigChange) => void)[] = [];
  const announce = (change: ConfigChange): void => {
    for (const listener of listeners) listener(change);
  };
  const settle = (): void => {
    if (records.isLoading) records.finishLoading().forEach(announce);
  };
  const follower = startFollower(kafka, {
    topic: topology.topics.config,
    onRecord: ({ key, value }) => {
      const change = records.accept(key?.toString() ?? '', value?.toString() ?? null);
      if (change !== undefined) announce(change);
    },
    onRestart: () => {
      records.restart();
      // Rejects only when it is stopped.
      follower.caughtUp().then(settle, () => undefined);
    },
    log,
  });
  try {
    await follower.loaded;
    settle();
    const { wrongKey } = records;
    if (wrongKey !== undefined)
      throw new PostriderError(
        'secret-unreadable',
        `no stored secret can be read: ${wrongKey.message}`,
      );
  } catch (error) {
    await follower.stop();
    throw error;
  }

  const { index } = records;
  return {
    get offset() {
      return follower.position();
    },
    sourceByWriteKey: (writeKey) => index.sourceByWriteKey(writeKey),
    source: (id) => index.source(id),
    destination: (id) => index.destination(id),
    destinations: () => index.destinations(),
    noticeHooks: () => index.noticeHooks(),
    destinationsOf: (sourceId) => index.destinationsOf(sourceId),
    isUnreadable: (id) => records.isUnreadable(nameOfDestination(id)),
    uidOf: (id) => (index.destination(id) ?? records.unreadable(nameOfDestination(id)))?.uid,
    onChange: (listener) => {
      listeners.push(listener);
    },
    get notFollowed() {
      return records.notFollowed;
    },
    isFresh: () => follower.isFresh() && !records.isLoading,
    caughtUp: async () => {
      await follower.caughtUp();
      settle();
    },
    stop: () => follower.stop(),
  };
}
