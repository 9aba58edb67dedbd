import { hash } from 'node:crypto';
import type { UrlValues } from '../../event/url-template.ts';
import { noUrlValues } from '../../event/url-template.ts';
import type { Job } from '../job.ts';
import type { Endpoint } from '../lane/endpoint.ts';
import type { Outcome } from '../outcome.ts';
import type { Sending } from '../sender.ts';
import type { BatchRun } from './batch-run.ts';

/** The owner of a batch. */
interface BatchKeeper {
  settled(batch: Batch, outcome: Outcome, endpointIndex: number, tookMs: number): void;
}

/**
 * Many events in one request to each URL. It is a way to send, and no unit of fate: each event has its own deadline,
 * attempts and end, and only while the request is under way do they have anything in common.
 */
export class Batch implements Sending {
  readonly run: BatchRun;
  readonly jobs: readonly Job[];
  /** `[body,body,…]`: each body byte for byte as it would be sent alone. */
  readonly body: Buffer;
  /** It has no URL with placeholders. */
  readonly urlValues: UrlValues = noUrlValues;
  readonly keeper: BatchKeeper;
  /** It counts as what its first event is when it goes out. */
  readonly isRetry: boolean;
  readonly hasReturned: boolean;
  headers: readonly string[] = [];
  endpoints: readonly Endpoint[] = [];
  /** The time when its requests were sent, by the steady clock. */
  startedMs = 0;
  /** The time when the last of them ended so far, by the steady clock. */
  endedMs = 0;
  /** Requests without an outcome yet. */
  pending = 0;
  /** The outcomes of its requests so far, as wholes, combined by `worse`. */
  outcome: Outcome | undefined = undefined;
  /** The status of an answer that was about some of the events, and did not say which. */
  refusedWith: number | undefined = undefined;
  /** Events without a decision yet. */
  open: number;
  /** Events that are to be sent again, in smaller batches. */
  readonly refused: Job[] = [];
  /** Events that are to be sent again as if they had not been sent. */
  readonly unsent: Job[] = [];
  #id: string | undefined;

  constructor(run: BatchRun, jobs: readonly Job[], keeper: BatchKeeper) {
    this.run = run;
    this.jobs = jobs;
    this.body = arrayOf(jobs);
    this.keeper = keeper;
    this.isRetry = jobs[0]?.isRetry === true;
    this.hasReturned = jobs[0]?.hasReturned === true;
    this.open = jobs.length;
  }

  /** An id made from the ids of its events: that of the same events in the same order is the same. */
  get messageId(): string {
    return (this.#id ??= idOf(this.jobs));
  }

  get destinationId(): string {
    return this.jobs[0]?.destinationId ?? '';
  }

  get batchSize(): number {
    return this.jobs.length;
  }

  mayFollow(endpointIndex: number): boolean {
    return this.endpoints[endpointIndex]?.breaker?.closed !== false;
  }

  authorization(endpointIndex: number): string | undefined {
    return this.endpoints[endpointIndex]?.login?.authorization;
  }

  settled(outcome: Outcome, endpointIndex: number, tookMs: number): void {
    this.keeper.settled(this, outcome, endpointIndex, tookMs);
  }
}

/** The bytes of an array beside those of its elements. */
export const bracketsBytes = 2;
export const commaBytes = 1;

const [openingBracket, comma, closingBracket] = [0x5b, 0x2c, 0x5d];

function arrayOf(jobs: readonly Job[]): Buffer {
  let bytes = bracketsBytes + (jobs.length - 1) * commaBytes;
  for (const { body } of jobs) bytes += body.length;
  const array = Buffer.allocUnsafe(bytes);
  array[0] = openingBracket;
  let at = 1;
  for (const { body } of jobs) {
    if (at > 1) array[at++] = comma;
    body.copy(array, at);
    at += body.length;
  }
  array[at] = closingBracket;
  return array;
}

function idOf(jobs: readonly Job[]): string {
  let ids = '';
  // Producers choose message ids freely, so only its length tells where one ends.
  for (const { messageId } of jobs) ids += `${messageId.length}:${messageId}`;
  return `batch_${hash('sha256', ids, 'base64url').slice(0, 27)}`;
}

/** Three failures divide a batch of 500 events by 512. */
const shiftPerFailure = 3;

/**
 * The most events in the batch of one that has failed so often. Some receivers answer 500, or nothing, because of one
 * event. What goes out with that one fails with it, so who has failed is sent with ever fewer others, and in the end alone.
 */
export function mostTogether(events: number, failures: number): number {
  return Math.max(1, events >> Math.min(31, shiftPerFailure * failures));
}
