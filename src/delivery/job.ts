import type { Envelope } from '../event/envelope.ts';
import { lastAnswerOf, type LastAnswer } from '../event/last-answer.ts';
import { noUrlValues, type UrlValues } from '../event/url-template.ts';
import type { TakenPartition, TakenRecord } from '../kafka/consume/taken-record.ts';
import { UnpackedBytes } from './bundle/unpacked-bytes.ts';
import type { Endpoint } from './lane/endpoint.ts';
import type { Outcome, Permanent, Retryable } from './outcome.ts';
import type { Sending } from './sender.ts';

/** A partition while this worker owns it. */
export interface Claim {
  readonly topic: string;
  readonly partition: number;
  /** The partition is one of a dedicated topic, which pauses where others defer. */
  readonly dedicated: boolean;
  /** The partition moves to another worker: nothing of it is started anymore, and what is under way ends. */
  revoked: boolean;
  /** The partition belongs to another worker now: this worker must not send or write anything for it. */
  lost: boolean;
  /** The part of the partition's window that is taken. At 1, nothing more of the partition is read. */
  fullness(): number;
  /** About the part of the window that so many of its events take: as if they were as large as the others. */
  partOf(events: number): number;
  /** The number of its events that wait in lanes with batches, for whatever. */
  waitingInBatchLanes: number;
  /** The number of records of the partition that may still leave their room in its window to others. */
  asideRoom(): number;
  readonly unpackedBytes: UnpackedBytes;
}

type Window = Pick<TakenPartition, 'fullness' | 'inFlight' | 'aside'>;

const noWindow: Window = { fullness: 0, inFlight: 0, aside: 0 };

/**
 * @param dedicated the partition is one of a dedicated topic
 * @param share the part of what may be unpacked of its bundles that may be used now; default: all of it
 * @param asideRoom default: none
 */
export function newClaim(
  { topic, partition }: Pick<Claim, 'topic' | 'partition'>,
  dedicated: boolean,
  window: Window = noWindow,
  share: () => number = () => 1,
  asideRoom: Claim['asideRoom'] = () => 0,
): Claim {
  const unpackedBytes = new UnpackedBytes(share);
  return {
    topic,
    partition,
    dedicated,
    revoked: false,
    lost: false,
    fullness: () => window.fullness,
    partOf: (events) => {
      // A record may hold many events, and some of them may have left the window to others.
      const inWindow = Math.max(events, window.inFlight - window.aside);
      return inWindow > 0 ? (window.fullness * events) / inWindow : 0;
    },
    waitingInBatchLanes: 0,
    asideRoom,
    unpackedBytes,
  };
}

/** Releases the records of revoked partitions. Returns the rest, in order. */
export function releaseRevoked<T extends Pick<Job, 'claim' | 'record'>>(
  waiting: readonly T[],
): T[] {
  return waiting.filter(({ claim, record }) => {
    if (claim.revoked) record.release();
    return !claim.revoked;
  });
}

/** The owner of a job: a lane. */
export interface JobKeeper {
  settled(job: Job, outcome: Outcome, endpointIndex: number, tookMs: number): void;
  /** The job's copy is acknowledged. */
  copied(job: Job): void;
}

/**
 * A number for a record's key (FNV-1a, 30 bits), cheaper than a string, in memory and as the key of a map.
 * Two users of one lane with the same number merely wait for each other.
 */
function userKey(key: Buffer): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++)
    hash = Math.imul(hash ^ (key[index] ?? 0), 0x01000193);
  // V8 stores integers of up to 31 bits without a box.
  return hash >>> 2;
}

/**
 * An event's place in the line of its user, at a destination with strict order: no later event of the user is sent before
 * this one was taken, given up, or has left the line. The line is the order of the records in the dedicated topic, so
 * nothing of it has to be kept: whoever reads the topic next finds it there.
 */
export interface PlaceInLine {
  /** The time for which later events wait for this one after its first failure. */
  orderForMs: number;
  /** The time of its first failure, by the steady clock. */
  failedSinceMs: number | undefined;
  /** The time of the next attempt, by the steady clock, while the event waits for it at the head of the line. */
  standsUntilMs: number | undefined;
  /** The event has waited for an earlier one of its user that had failed, or for its destination to be resumed. */
  isHeldUp: boolean;
  /** The record leaves its room in the window of its partition to others. */
  isAside: boolean;
}

const noHeaders: readonly string[] = [];

/** One record on its way through the worker: what waits in a lane, and what the sender sends. */
export class Job implements Sending {
  readonly record: TakenRecord;
  readonly claim: Claim;
  /** Replaced after an attempt that failed, if the event waits for the next one in its place. */
  envelope: Envelope;
  body: Buffer;
  /** The user, as `userKey`, whose order the job keeps; undefined for retries, which keep none. */
  readonly user: number | undefined;

  /** The event has been through a retry topic, or waited in its place, after a failure or a deferral. */
  hasReturned: boolean;
  /** End of the retry window, once the retry clock runs. */
  deadlineMs: number | undefined;

  /** Its place in the line of its user, at a destination with strict order. */
  line: PlaceInLine | undefined = undefined;
  /** The link of the queue that the job waits in. */
  next: Job | undefined = undefined;
  /** The link of the hash table that holds the user's first job. */
  nextInBucket: Job | undefined = undefined;
  /** Jobs of the same user that wait for this one, oldest first. Only a user's first job has them. */
  followers: Job[] | undefined = undefined;

  /**
   * The time, by the steady clock, since which the job waits for a configuration as new as the one that the router
   * had seen.
   */
  awaitsConfigSinceMs: number | undefined = undefined;
  keeper: JobKeeper | undefined = undefined;
  endpoints: readonly Endpoint[] = [];
  headers: readonly string[] = noHeaders;
  /** The values at the placeholders of its URLs. */
  urlValues: UrlValues = noUrlValues;
  /** The time when its requests were sent, by the steady clock. */
  startedMs = 0;
  /** The event came to its lane before its retry window was over. */
  isInTime = true;
  /** The event has no time left for another retry topic, or for its turn behind others that have. */
  isShortOfTime = false;
  /** There is no time left to put the event off again, so it goes out even while the lane is held. */
  urgent = false;
  /** Requests without an outcome yet. */
  pending = 0;
  /** The outcomes of the URLs so far, combined by `worse`. */
  outcome: Outcome | undefined = undefined;
  /** The URL that the outcome is about. */
  outcomeUrl: string | undefined = undefined;
  /** The job's outcome is settled; requests to further URLs may still be on their way. */
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

  /** Resets the job as if it had not been sent. */
  startOver(): void {
    this.over = false;
    this.outcome = undefined;
  }

  /** Its copy is acknowledged. */
  copied(): void {
    this.record.finish();
    this.keeper?.copied(this);
  }

  /** The last answer to the event, for those who look at it later. */
  lastAnswer(outcome: Retryable | Permanent, nowMs: number): LastAnswer {
    const retryAfterMs = outcome.kind === 'retryable' ? outcome.retryAfterMs : undefined;
    const { detail, answer } = outcome;
    return lastAnswerOf(nowMs, { detail, retryAfterMs }, this.outcomeUrl, answer?.body);
  }

  /** Leaves its room in the window of its partition to others. */
  setAside(): void {
    this.record.setAside();
    // The record is copied out of what it was fetched with.
    this.body = this.record.value ?? this.body;
  }

  get messageId(): string {
    return this.envelope.messageId;
  }

  get destinationId(): string {
    return this.envelope.destinationId;
  }

  /** It is no batch. */
  get batchSize(): number {
    return 0;
  }

  get isRetry(): boolean {
    return this.envelope.attempts > 0;
  }

  mayFollow(endpointIndex: number): boolean {
    return this.endpoints[endpointIndex]?.breaker?.closed !== false;
  }

  authorization(endpointIndex: number): string | undefined {
    return this.endpoints[endpointIndex]?.login?.authorization;
  }

  settled(outcome: Outcome, endpointIndex: number, tookMs: number): void {
    this.keeper?.settled(this, outcome, endpointIndex, tookMs);
  }
}
