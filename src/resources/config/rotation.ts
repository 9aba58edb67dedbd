import { PostriderError } from '../../errors.ts';
import { followConfigTopic, type ConfigTopicAccess } from './config-topic.ts';
import { ConfigWriter, type ConfigRecord } from './config-writer.ts';
import type { SecretKeys } from './secrets.ts';
import {
  decodeResource,
  encodeResource,
  needsNewKey,
  openResource,
  parseRecordKey,
} from './stored.ts';

interface Rotated {
  /** Record keys, `<kind>/<id>`, of resources that were encrypted again. */
  readonly rewritten: readonly string[];
  /** Why other resources could not be read, one sentence each. They stay as they are. */
  readonly unreadable: readonly string[];
}

/**
 * Encrypts everything in the `config` topic with the current key. May be interrupted and repeated at any time, because
 * each record is complete.
 * @throws PostriderError `not-found` without the topic, `secret-unreadable` without a SECRET_KEY
 */
export async function rotateSecrets(
  access: ConfigTopicAccess,
  secretKeys: SecretKeys,
): Promise<Rotated> {
  const followed = await followConfigTopic(access, (_key, value) => value.toString());
  const writer = new ConfigWriter(access, followed);
  try {
    const { result } = await writer.change(() => {
      const { records, unreadable } = planRotation(followed.resources, secretKeys);
      return { records, result: { rewritten: records.map(({ key }) => key), unreadable } };
    });
    return result;
  } finally {
    writer.close();
    await followed.stop();
  }
}

interface RotationPlan {
  readonly records: readonly ConfigRecord[];
  /** Resources that neither key can read: why, one sentence each. */
  readonly unreadable: readonly string[];
}

/** @param stored the newest value of each record key */
export function planRotation(stored: ReadonlyMap<string, string>, keys: SecretKeys): RotationPlan {
  const records: ConfigRecord[] = [];
  const unreadable: string[] = [];
  for (const [key, value] of stored) {
    try {
      const encrypted = encryptAnew(key, value, keys);
      if (encrypted !== value) records.push({ key, value: encrypted });
    } catch (error) {
      if (!(error instanceof PostriderError)) throw error;
      unreadable.push(error.message);
    }
  }
  return { records, unreadable };
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
