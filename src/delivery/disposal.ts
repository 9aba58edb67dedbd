import type { PostriderError } from '../errors.ts';
import { encodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import type { Envelope } from '../event/envelope.ts';
import type { HeaderValue, OutgoingRecord } from '../kafka/record.ts';
import type { DeliveryEvents } from './events.ts';
import type { Claim, Job, TakenRecord } from './job.ts';
import type { DeadLetterReason } from './outcome.ts';
import type { DeferralCause, Later } from './retry-policy.ts';

/** Where records go that are not delivered; the producer in production. */
export interface RecordSink {
  /** Calls `done` once: without an argument when the record is safe, with an error when it never can be. */
  produce(record: OutgoingRecord, done: (refused?: PostriderError) => void): void;
}

export interface DisposalTopics {
  retryTopic(tierMs: number): string;
  readonly deadLetter: string;
}

/** Copies records to where they go next; only an acknowledged copy finishes the original. */
export class Disposal {
  readonly #sink: RecordSink;
  readonly #topics: DisposalTopics;
  readonly #events: DeliveryEvents;
  #writing = 0;
  #closed = false;

  constructor(sink: RecordSink, topics: DisposalTopics, events: DeliveryEvents) {
    this.#sink = sink;
    this.#topics = topics;
    this.#events = events;
  }

  /** Copies that are not acknowledged yet. */
  get writing(): number {
    return this.#writing;
  }

  /** Nothing is written any more; what comes later stays unfinished. */
  close(): void {
    this.#closed = true;
  }

  retry(job: Job, plan: Later): void {
    this.#events.retryPlanned(plan.tierMs);
    this.#putOff(job, job.envelope.attempts + 1, plan);
  }

  defer(job: Job, plan: Later, cause: DeferralCause): void {
    this.#events.deferred(cause);
    this.#putOff(job, job.envelope.attempts, plan);
  }

  deadLetter(job: Job, reason: DeadLetterReason, detail: string, attempts: number): void {
    if (job.claim.lost || this.#closed) return;
    const envelope = encodeEnvelope({ ...job.envelope, attempts });
    this.#deadLetter(job.record, job.claim, envelope, job.envelope, reason, detail);
  }

  /** For a record whose envelope cannot be read: what it has instead is kept. */
  malformed(record: TakenRecord, claim: Claim, detail: string): void {
    const header = record.headers[envelopeHeader];
    this.#deadLetter(record, claim, header, undefined, 'malformed', detail);
  }

  #putOff(job: Job, attempts: number, plan: Later): void {
    // Its new owner delivers it again, and counts this attempt by itself.
    if (job.claim.lost || this.#closed) return;
    const { record, envelope } = job;
    const next: Envelope = {
      ...envelope,
      attempts,
      deadlineMs: plan.deadlineMs,
      dueMs: plan.dueMs,
      last: plan.last ? true : undefined,
    };
    const copy = {
      topic: this.#topics.retryTopic(plan.tierMs),
      key: record.key,
      value: record.value,
      headers: { [envelopeHeader]: encodeEnvelope(next) },
      mayWait: true as const,
    };
    this.#writing += 1;
    this.#sink.produce(copy, (refused) => {
      this.#writing -= 1;
      if (refused === undefined) record.finish();
      else this.deadLetter(job, 'record-refused', refused.message, attempts);
    });
  }

  #deadLetter(
    record: TakenRecord,
    claim: Claim,
    header: HeaderValue | undefined,
    envelope: Envelope | undefined,
    reason: DeadLetterReason,
    detail: string,
  ): void {
    this.#events.deadLettered(reason, detail, envelope);
    const copy = {
      topic: this.#topics.deadLetter,
      key: record.key,
      value: record.value,
      headers: { ...(header === undefined ? {} : { [envelopeHeader]: header }), reason, detail },
    };
    this.#writing += 1;
    this.#sink.produce(copy, (refused) => {
      this.#writing -= 1;
      // Neither delivered nor kept anywhere else: its offset must not be committed.
      if (refused === undefined) record.finish();
      else this.#events.partitionStuck(claim, record.offset, refused);
    });
  }
}
