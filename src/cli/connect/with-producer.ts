import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../../errors.ts';
import { createProducer, type Producer } from '../../kafka/produce/producer.ts';
import { systemClock } from '../../ops/clock.ts';
import { closeMs } from '../../ops/wait.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import type { Context } from '../context.ts';

/** Time for records of other topics that are in flight when one topic turns out to be missing, and for their marks. */
const settleMs = 2_000;

/**
 * For a one-shot command. A producer waits without end for a topic that does not exist, and repeats writes that
 * Kafka's ACLs refuse, which is right for a role but not for a command. When `givenUp` settles, Kafka is not waited
 * for any longer, and records that it has not acknowledged are dropped.
 * @param use gets a signal to begin no more, because this is about to fail
 * @throws PostriderError `kafka-refused` with the topics that may not be written; `not-found` with those that do not
 * exist
 */
export async function withProducer<T>(
  context: Context,
  use: (producer: Producer, ending: AbortSignal) => Promise<T>,
  givenUp?: Promise<T>,
): Promise<T> {
  const { kafka, log } = context;
  const refused = Promise.withResolvers<never>();
  const hopeless = Promise.race([refused.promise, ...(givenUp === undefined ? [] : [givenUp])]);
  let timeoutMs = closeMs;
  const reaching = new AbortController();
  const leave = (): void => {
    timeoutMs = 0;
    reaching.abort();
  };
  hopeless.then(leave, leave);
  const ending = new AbortController();
  let isLooking = false;
  // Kafka also says so of a topic that was just created, or whose leader is just elected.
  const look = async (topics: readonly string[]): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      const names = topics.map((name) => ({ name }));
      await requireTopics(kafka, names);
    } catch (error) {
      // Anything else does not prove that the topic is gone. The producer goes on, and this is called again.
      if (!(error instanceof PostriderError && error.code === 'not-found')) return;
      ending.abort();
      await delay(settleMs);
      refused.reject(ofOthers(context, topics) ?? error);
    } finally {
      isLooking = false;
    }
  };
  const failed = (reason: string, topics: readonly string[]): void => {
    if (reason === 'UNKNOWN_TOPIC_OR_PARTITION') void look(topics);
    if (!reason.endsWith('_AUTHORIZATION_FAILED')) return;
    const message = `Kafka's ACLs do not let this principal write to topic ${topics.join(', ')}`;
    refused.reject(new PostriderError('kafka-refused', message));
  };
  const unknown = (reason: string, topic: string): void => {
    failed(reason, [topic]);
  };
  const { signal } = reaching;
  const options = { clock: systemClock, log, hooks: { failed, unknown }, signal };
  const producer = await createProducer(kafka, options).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (producer === undefined) return hopeless;
  try {
    return await Promise.race([use(producer, ending.signal), hopeless]);
  } finally {
    await producer.close(timeoutMs);
  }
}

/** `postrider topics --create` does not make topics of others, to which rejected calls may go back. */
function ofOthers({ settings }: Context, topics: readonly string[]): PostriderError | undefined {
  const name = topics.find((topic) => settings.ingestTopics.includes(topic));
  if (name === undefined) return undefined;
  const message = `topic ${name} does not exist; it is named in INGEST_TOPICS, and whoever owns it must create it`;
  return new PostriderError('not-found', message);
}
