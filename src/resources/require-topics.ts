import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../errors.ts';
import { adminError } from '../kafka/failure.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { KafkaAnswerError } from '../kafka/protocol/errors.ts';

const lookAgainMs = 500;
/** A topic that was just made is not known to every broker at once. */
const looks = 6;

/**
 * @throws PostriderError `not-found` if one is missing, with the command that makes it; `kafka-refused` if this
 * principal may not see one
 */
export async function requireTopics(
  kafka: KafkaClient,
  topics: readonly { readonly name: string }[],
): Promise<void> {
  for (let look = 1; ; look += 1) {
    const existing = new Set(await withAdmin(kafka, (admin) => admin.topicNames()));
    const missing = topics.map(({ name }) => name).filter((name) => !existing.has(name));
    if (missing.length === 0) return;
    if (look === looks) {
      await refuseHidden(kafka, missing);
      throw new PostriderError('not-found', missingTopics(missing));
    }
    await delay(lookAgainMs);
  }
}

/** Kafka lists no topic that its ACLs do not let one describe; asked for by name, it says so. */
async function refuseHidden(kafka: KafkaClient, missing: readonly string[]): Promise<void> {
  const cluster = kafka.openCluster();
  try {
    await cluster.refresh(missing);
    const error = 'TOPIC_AUTHORIZATION_FAILED';
    const hidden = missing.find((name) => cluster.topicError(name) === error);
    if (hidden !== undefined) throw adminError(new KafkaAnswerError(error, 'a topic'), hidden);
  } catch (error) {
    throw adminError(error);
  } finally {
    cluster.close();
  }
}

/** A sentence about at least one topic of ours. */
export function missingTopics([first = '', ...more]: readonly string[]): string {
  return more.length === 0
    ? `topic ${first} does not exist; create it with \`postrider topics --create\``
    : `topic ${first} and ${more.length} more do not exist; create them with \`postrider topics --create\``;
}
