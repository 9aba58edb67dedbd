import { PostriderError } from '../../errors.ts';
import { followTable } from '../../kafka/follow/table.ts';
import { nameOfDestination } from '../notice-hook.ts';
import { ConfigRecords } from './config-records.ts';
import type { Config } from './config.ts';
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
  const { kafka, topology, log, secretKeys } = options;
  const table = followTable(
    kafka,
    { topic: topology.topics.config, log },
    {
      create: (former: ConfigRecords | undefined) =>
        new ConfigRecords(secretKeys, log, former?.index),
      apply: (records, { key, value }) =>
        records.accept(key?.toString() ?? '', value?.toString() ?? null),
      complete: (records) => records.finishLoading(),
    },
  );
  await table.loaded;
  const { index, wrongKey } = table.current;
  if (wrongKey !== undefined) {
    await table.stop();
    throw new PostriderError(
      'secret-unreadable',
      `no stored secret can be read: ${wrongKey.message}`,
    );
  }
  return {
    get offset() {
      return table.position();
    },
    sourceByWriteKey: (writeKey) => index.sourceByWriteKey(writeKey),
    source: (id) => index.source(id),
    destination: (id) => index.destination(id),
    destinations: () => index.destinations(),
    noticeHooks: () => index.noticeHooks(),
    destinationsOf: (sourceId) => index.destinationsOf(sourceId),
    isUnreadable: (id) => table.current.isUnreadable(nameOfDestination(id)),
    uidOf: (id) => (index.destination(id) ?? table.current.unreadable(nameOfDestination(id)))?.uid,
    onChange: (listener) => {
      table.onChange(listener);
    },
    get notFollowed() {
      return table.current.notFollowed;
    },
    isFresh: () => table.isFresh(),
    caughtUp: () => table.caughtUp(),
    stop: () => table.stop(),
  };
}
