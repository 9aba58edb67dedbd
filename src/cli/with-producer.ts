import { PostriderError } from '../errors.ts';
import { createProducer, type Producer } from '../kafka/produce/producer.ts';
import { systemClock } from '../ops/clock.ts';
import type { Context } from './context.ts';

/** For what is on its way when a command is stopped: longer than an attempt to write takes. */
const closeMs = 30_000;

/**
 * For a command that answers: a producer repeats for ever what Kafka's ACLs refuse, as a role should,
 * and nobody would wait for that.
 * @throws PostriderError `kafka-refused` with the topics that may not be written
 */
export async function withProducer<T>(
  { kafka, log }: Context,
  use: (producer: Producer) => Promise<T>,
): Promise<T> {
  const refused = Promise.withResolvers<never>();
  const refusal = new AbortController();
  refused.promise.catch(() => {
    refusal.abort();
  });
  const failed = (reason: string, topics: readonly string[]): void => {
    if (!reason.endsWith('_AUTHORIZATION_FAILED')) return;
    const message = `Kafka's ACLs do not let this principal write to topic ${topics.join(', ')}`;
    refused.reject(new PostriderError('kafka-refused', message));
  };
  const producer = await createProducer(kafka, { clock: systemClock, log, hooks: { failed } });
  try {
    return await Promise.race([use(producer), refused.promise]);
  } finally {
    await producer.close(refusal.signal.aborted ? 0 : closeMs);
  }
}
