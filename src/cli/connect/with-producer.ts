import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../../errors.ts';
import { createProducer, type Producer } from '../../kafka/produce/producer.ts';
import { systemClock } from '../../ops/clock.ts';
import type { Context } from '../context.ts';

/** Time for records in flight when a command is stopped: longer than an attempt to write takes. */
const closeMs = 30_000;

/**
 * For a one-shot command. A producer repeats writes that Kafka's ACLs refuse without end, which is right for
 * a role but not for a command. When `givenUp` settles, Kafka is not waited for any longer, and records that it has not
 * acknowledged are dropped.
 * @throws PostriderError `kafka-refused` with the topics that may not be written
 */
export async function withProducer<T>(
  { kafka, log }: Context,
  use: (producer: Producer) => Promise<T>,
  givenUp?: Promise<T>,
): Promise<T> {
  const refused = Promise.withResolvers<never>();
  const hopeless = Promise.race([refused.promise, ...(givenUp === undefined ? [] : [givenUp])]);
  let timeoutMs = closeMs;
  const reaching = new AbortController();
  const leave = (): void => {
    timeoutMs = 0;
    reaching.abort();
  };
  hopeless.then(leave, leave);
  const failed = (reason: string, topics: readonly string[]): void => {
    if (!reason.endsWith('_AUTHORIZATION_FAILED')) return;
    const message = `Kafka's ACLs do not let this principal write to topic ${topics.join(', ')}`;
    refused.reject(new PostriderError('kafka-refused', message));
  };
  const { signal } = reaching;
  const options = { clock: systemClock, log, hooks: { failed }, signal };
  const producer = await createProducer(kafka, options).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (producer === undefined) return hopeless;
  try {
    return await Promise.race([use(producer), hopeless]);
  } finally {
    await producer.close(timeoutMs);
  }
}

/** Resolves when records in flight at the signal have had enough time, also while Kafka is unreachable. */
export async function timeToEnd(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  await delay(closeMs, undefined, { ref: false });
}
