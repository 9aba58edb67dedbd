import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../errors.ts';
import { withAdmin, type KafkaAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';

const lookAgainMs = 500;
/** A topic that was just made is not known to every broker at once. */
const looks = 6;

/** @throws PostriderError `not-found` if one is missing, with the command that makes it. */
export async function requireTopics(
  kafka: KafkaClient,
  topics: readonly { readonly name: string }[],
): Promise<void> {
  for (let look = 1; ; look += 1) {
    const existing = new Set(await withAdmin(kafka, (admin) => admin.topicNames()));
    const missing = topics.map(({ name }) => name).filter((name) => !existing.has(name));
    if (missing.length === 0) return;
    if (look === looks) {
      await withAdmin(kafka, (admin) => refuseHidden(admin, missing));
      throw new PostriderError('not-found', sentence(missing));
    }
    await delay(lookAgainMs);
  }
}

/** Kafka lists no topic that its ACLs do not let one describe; asked for by name, it says so. */
async function refuseHidden(admin: KafkaAdmin, [first = '']: readonly string[]): Promise<void> {
  await admin.partitionCount(first).catch((error: unknown) => {
    if (error instanceof PostriderError && error.code === 'kafka-refused') throw error;
  });
}

function sentence([first = '', ...more]: readonly string[]): string {
  return more.length === 0
    ? `topic ${first} does not exist; create it with \`postrider topics --create\``
    : `topic ${first} and ${more.length} more do not exist; create them with \`postrider topics --create\``;
}
