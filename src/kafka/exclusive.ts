import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { KafkaClient } from './client.ts';
import { startConsumeLoop } from './consume/consume-loop.ts';

export interface ExclusiveOptions {
  /** Names what is exclusive. */
  readonly groupId: string;
  /** A topic with one partition; nothing is read from it. */
  readonly topic: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Something that one process at a time does. */
export interface Exclusive {
  /** Aborted when another process has it now, because this one was not heard of for 10 s. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** One of the processes that would do it. */
export interface Candidate {
  /** Lets another one have it. */
  release(): Promise<void>;
}

/**
 * @returns undefined if another process has it
 */
export async function acquireExclusive(
  kafka: KafkaClient,
  options: ExclusiveOptions,
): Promise<Exclusive | undefined> {
  const lost = new AbortController();
  const joined = Promise.withResolvers<boolean>();
  const candidate = await standForExclusive(kafka, options, (isHeld) => {
    joined.resolve(isHeld);
    if (!isHeld) lost.abort();
  });
  if (await joined.promise) return { lost: lost.signal, release: () => candidate.release() };
  await candidate.release();
  return undefined;
}

/**
 * A consumer group gives a partition to one member, which keeps it while others come and go. After a
 * holder was killed, this takes until the group's session timeout, 10 s.
 * @param onTurn called with true when this process has it, and with false when another one may
 */
export async function standForExclusive(
  kafka: KafkaClient,
  { groupId, topic, clock, log }: ExclusiveOptions,
  onTurn: (isHeld: boolean) => void,
): Promise<Candidate> {
  const loop = await startConsumeLoop(kafka, {
    groupId,
    topics: [topic],
    clock,
    log,
    // What comes is never finished, so that nothing more is read, and nothing committed.
    windowRecords: 1,
    windowBytes: 1,
    maxBytesPerPartition: 1,
    onRecords: () => undefined,
    onAssigned: (partitions) => {
      onTurn(partitions.length > 0);
    },
  });
  return { release: () => loop.stop(0) };
}
