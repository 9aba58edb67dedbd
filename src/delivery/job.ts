import type { Envelope } from '../event/envelope.ts';
import type { Finisher } from '../kafka/consume/consumed-record.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import type { Endpoint } from './lane/endpoint.ts';
import type { Outcome } from './outcome.ts';
import type { Sending } from './sender.ts';

/** A record that this worker has taken. Its offset is committed some time after `finish`. */
export interface TakenRecord extends IncomingRecord {
  /** A partition, or a bundle that came from one. It is told the number of the slot. */
  readonly owner: Finisher;
  readonly slot: number;
  finish(): void;
  /** Nobody here works on it any more, and it is not finished. */
  release(): void;
}

/** A partition for as long as this worker owns it. */
export interface Claim {
  readonly topic: string;
  readonly partition: number;
  /** Of a dedicated topic: it pauses where others defer. */
  readonly dedicated: boolean;
  /** It goes to somebody else: nothing of it is begun any more, and what is under way comes to its end. */
  revoked: boolean;
  /** Somebody else's now: nothing of it may be sent or written by us. */
  lost: boolean;
  /** The part of its window that is taken: at 1 nothing more of the partition is read. */
  fullness(): number;
  /** Of events that were unpacked from bundles, which the window does not see, and are not done with. */
  unpackedBytes: number;
}

/** @param dedicated it is of a dedicated topic */
export function newClaim(
  { topic, partition }: Pick<Claim, 'topic' | 'partition'>,
  dedicated: boolean,
  fullness: Claim['fullness'],
): Claim {
  return { topic, partition, dedicated, revoked: false, lost: false, fullness, unpackedBytes: 0 };
}

/** Lets go of what is of revoked partitions. Gives the rest, in its order. */
export function releaseRevoked<T extends Pick<Job, 'claim' | 'record'>>(
  waiting: readonly T[],
): T[] {
  return waiting.filter(({ claim, record }) => {
    if (claim.revoked) record.release();
    return !claim.revoked;
  });
}

/** Whoever has taken responsibility for jobs: a lane. */
export interface JobKeeper {
  settled(job: Job, outcome: Outcome, endpointIndex: number, tookMs: number): void;
}

/**
 * Stands for a record key (FNV-1a, 30 bits): cheaper than a string, in memory and as the key of a map. Two
 * users of one lane who share a number merely wait for each other.
 */
function userKey(key: Buffer): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++)
    hash = Math.imul(hash ^ (key[index] ?? 0), 0x01000193);
  // V8 keeps integers of up to 31 bits without a box.
  return hash >>> 2;
}

/** One record on its way through the worker: what waits in a lane, and what the sender sends. */
export class Job implements Sending {
  readonly record: TakenRecord;
  readonly claim: Claim;
  readonly envelope: Envelope;
  readonly body: Buffer;
  /** Whose order it keeps, as `userKey`; undefined for retries, which keep none. */
  readonly user: number | undefined;

  /** It has been through a retry topic, by a failure or by a deferral. */
  hasReturned: boolean;
  /** End of its retry window, once the retry clock runs. */
  deadlineMs: number | undefined;

  /** Of the queue that it waits in. */
  next: Job | undefined = undefined;
  /** Of the table in which it stands for its user. */
  nextInBucket: Job | undefined = undefined;
  /** Jobs of the same user that wait for this one, oldest first. */
  followers: Job[] | undefined = undefined;

  /** Since when it waits for a configuration as new as the one that the router had seen. */
  heldSinceMs: number | undefined = undefined;
  keeper: JobKeeper | undefined = undefined;
  endpoints: readonly Endpoint[] = [];
  signature: string | undefined = undefined;
  idempotencyHeader: string | undefined = undefined;
  /** By the steady clock. */
  startedMs = 0;
  /** It came to its lane before its retry window was over. */
  isInTime = true;
  /** There is no time left to put it off again: it goes out even where the lane is held. */
  urgent = false;
  /** Requests without an outcome yet. */
  pending = 0;
  /** The worst, or best, of the URLs' outcomes so far. */
  outcome: Outcome | undefined = undefined;
  /** The URL that it is of. */
  outcomeUrl: string | undefined = undefined;
  /** Its outcome is settled; requests to further URLs may still be on their way. */
  over = false;

  constructor(record: TakenRecord, claim: Claim, envelope: Envelope, body: Buffer) {
    this.record = record;
    this.claim = claim;
    this.envelope = envelope;
    this.body = body;
    this.hasReturned = envelope.dueMs !== undefined;
    this.deadlineMs = envelope.deadlineMs;
    this.user = envelope.attempts > 0 || record.key === null ? undefined : userKey(record.key);
  }

  /** As if it had not been sent. */
  startOver(): void {
    this.over = false;
    this.outcome = undefined;
  }

  get messageId(): string {
    return this.envelope.messageId;
  }

  get isRetry(): boolean {
    return this.envelope.attempts > 0;
  }

  settled(outcome: Outcome, endpointIndex: number, tookMs: number): void {
    this.keeper?.settled(this, outcome, endpointIndex, tookMs);
  }
}
