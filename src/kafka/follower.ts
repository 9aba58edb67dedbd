import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { KafkaClient } from './client.ts';
import type { IncomingRecord } from './record.ts';

export interface FollowerOptions {
  readonly topic: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Every record from the beginning of the topic on, in each partition's order, none twice. Must not throw. */
  onRecord(record: IncomingRecord): void;
  /**
   * The topic was deleted and made again: what `onRecord` brought so far is void, and everything of
   * the new topic follows from its beginning. Meanwhile the follower is not fresh.
   */
  onRestart?(): void;
  /** The follower is dead and cannot restart itself. By default the process ends with code 1. */
  onCrash?(error: Error): void;
}

/** Reads a whole topic, usually a compacted one, and keeps reading. */
export interface Follower {
  /** Resolves once everything that was in the topic at the start has been handed to `onRecord`. */
  readonly loaded: Promise<void>;
  /** The next offset to read, in one partition. 0 before the first record of it. */
  position(partition?: number): number;
  /** True while an end of the topic that was asked for at most 2 s ago has been reached. */
  isFresh(): boolean;
  /** Resolves when an end of the topic that was asked for after this call has been reached. Rejects with `stopped`. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** Resolves at once: Kafka or the topic being away is retried, with a log line, until `stop`. */
export function startFollower(kafka: KafkaClient, options: FollowerOptions): Promise<Follower> {
  kafka.logger();
  return Promise.reject(new Error(`not there yet: ${options.topic}`));
}
