import type { PostriderError } from '../errors.ts';
import { encodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import type { Envelope } from '../event/envelope.ts';
import { encodeLastAnswer, lastAnswerOf, type LastAnswer } from '../event/last-answer.ts';
import {
  answerHeader,
  detailHeader,
  lastAnswerHeader,
  reasonHeader,
} from '../event/rejected-headers.ts';
import type { HeaderValue, OutgoingRecord } from '../kafka/record.ts';
import type { Clock } from '../ops/clock.ts';
import { jobOfBundled, type Bundle } from './bundle/bundle.ts';
import { Bundler } from './bundle/bundler.ts';
import {
  compressEvents,
  decompressEvents,
  encodeBundleHeader,
  type BundleHeader,
} from './bundle/format.ts';
import type { Gathered } from './bundle/gathering.ts';
import type { DeliveryEvents } from './events.ts';
import type { Claim, Job, TakenRecord } from './job.ts';
import { EventPacker } from './packing.ts';
import type { PackedRecord } from './packing.ts';
import type { Permanent, Retryable } from './outcome.ts';
import type { Later } from './retry-policy.ts';
import type { Ending, GiveUp, PutOff } from './verdict.ts';

/** Where records go that are not delivered; the producer in production. */
export interface RecordSink {
  /** Calls `done` once: without an argument when the record is safe, with an error when it never can be. */
  produce(record: OutgoingRecord, done: (refused?: PostriderError) => void): void;
}

export interface DisposalTopics {
  retryTopic(tierMs: number): string;
  dedicatedTopic(destinationId: string): string;
  readonly deadLetter: string;
  /** Where events of paused destinations are kept. */
  readonly paused: string;
}

export interface DisposalDeps {
  readonly sink: RecordSink;
  readonly topics: DisposalTopics;
  /** What the partition of a destination's events is computed from; undefined: their keys. */
  readonly partitionKeyOf: (destinationId: string) => string | undefined;
  readonly events: DeliveryEvents;
  readonly clock: Clock;
}

interface Why extends Pick<GiveUp, 'reason' | 'detail'> {
  /** What the endpoint said, where that has just happened. */
  readonly answer?: Buffer | undefined;
}

interface RetryPlace {
  readonly tierMs: number;
  readonly destinationId: string;
}

/** Copies records to where they go next; only an acknowledged copy finishes the original. */
export class Disposal {
  readonly #sink: RecordSink;
  readonly #topics: DisposalTopics;
  readonly #partitionKeyOf: DisposalDeps['partitionKeyOf'];
  readonly #events: DeliveryEvents;
  readonly #clock: Clock;
  readonly #bundler: Bundler;
  #writing = 0;
  #closed = false;

  constructor({ sink, topics, partitionKeyOf, events, clock }: DisposalDeps) {
    this.#sink = sink;
    this.#topics = topics;
    this.#partitionKeyOf = partitionKeyOf;
    this.#events = events;
    this.#clock = clock;
    this.#bundler = new Bundler({
      clock,
      onGathered: (gathered) => {
        this.#putOffGathered(gathered);
      },
      onAlone: (job, plan) => {
        this.#putOff(job, job.envelope.attempts, plan);
      },
    });
  }

  /** Copies that are not acknowledged yet, or not even sent. */
  get writing(): number {
    return this.#writing + this.#bundler.events;
  }

  /** Nothing is written any more; what comes later stays unfinished. */
  close(): void {
    this.#closed = true;
    this.#bundler.close();
  }

  /** The job's record is finished by it, as soon as nothing can be lost by that. */
  carryOut(job: Job, ending: Ending): void {
    switch (ending.kind) {
      case 'finish':
        this.#events.delivered(job);
        job.record.finish();
        break;
      case 'drop':
        this.#events.fenced(job, ending.fencedBy);
        job.record.finish();
        break;
      case 'keep':
        this.#keep(job);
        break;
      case 'retry':
        this.#events.retryPlanned(job, ending.plan);
        this.#retry(job, ending);
        break;
      case 'put-off':
        this.#defer(job, ending);
        break;
      case 'send-home':
        this.#sendHome(job);
        break;
      case 'give-up':
        this.#giveUp(job, ending);
    }
  }

  #defer(job: Job, { plan, cause }: PutOff): void {
    this.#events.deferred(job, cause, plan);
    // Under a rate limit each has a turn of its own.
    if (cause === 'rate-limit') this.#putOff(job, job.envelope.attempts, plan);
    else this.#bundler.add(job, plan);
  }

  /** Where it is, it stays until its destination is resumed: no retry clock runs. */
  #keep(job: Job): void {
    if (job.claim.lost || this.#closed) return;
    const { record, envelope } = job;
    this.#events.kept(job);
    const copy: OutgoingRecord = {
      topic: this.#topics.paused,
      key: record.key,
      value: record.value,
      headers: {
        [envelopeHeader]: encodeEnvelope({ ...envelope, dueMs: undefined }),
        [reasonHeader]: 'paused',
      },
    };
    this.#write(copy, (refused) => {
      if (refused === undefined) record.finish();
      else this.#giveUp(job, recordRefused(refused, envelope.attempts));
    });
  }

  /** Into the dedicated topic of its destination, where its turn under the rate limit is waited for. */
  #sendHome(job: Job): void {
    if (job.claim.lost || this.#closed) return;
    const { record, envelope, deadlineMs } = job;
    const { destinationId } = envelope;
    this.#events.deferred(job, 'rate-limit');
    const copy: OutgoingRecord = {
      topic: this.#topics.dedicatedTopic(destinationId),
      partitionKey: this.#partitionKeyOf(destinationId),
      key: record.key,
      value: record.value,
      headers: { [envelopeHeader]: encodeEnvelope({ ...envelope, deadlineMs }) },
    };
    this.#write(copy, (refused) => {
      if (refused === undefined) record.finish();
      else this.#giveUp(job, recordRefused(refused, envelope.attempts));
    });
  }

  /** As it is, so the plan has to suit each of its events. */
  deferBundle(bundle: Bundle, putOff: PutOff): void {
    const { record, claim, header } = bundle;
    if (claim.lost || this.#closed) return;
    const { destinationId } = header;
    const { plan } = putOff;
    this.#events.bundleDeferred(bundle, putOff);
    const { tierMs, dueMs, deadlineMs } = plan;
    const next = encodeBundleHeader({ ...header, dueMs, deadlineMs });
    this.#writeToRetry({ tierMs, destinationId }, record, next, (refused) => {
      if (refused === undefined) record.finish();
      else for (const job of this.unpack(bundle)) this.#putOffAlone(job, tierMs, dueMs);
    });
  }

  /** The bundle's events. What of it cannot be read is a dead letter. */
  unpack(bundle: Bundle): Job[] {
    const { record, claim, header } = bundle;
    const records = bundle.unpack((rest) => {
      this.#writeRest(bundle, rest);
    });
    if (records === undefined) this.malformed(record, claim, 'no readable bundle');
    return this.#jobsOf(records ?? [], claim, header);
  }

  /**
   * Some events of the bundle are done with, and the others are left to the next owner of its partition. As
   * a record of their own, which is due at once, they come to it without those.
   */
  #writeRest({ record, claim, header }: Bundle, rest: readonly PackedRecord[]): void {
    if (claim.lost || this.#closed) return;
    const packer = new EventPacker();
    for (const event of rest) packer.add(event.key, event.header, event.value);
    const next = encodeBundleHeader({ ...header, events: rest.length });
    const value = compressEvents(packer.packed);
    const copy = {
      topic: claim.topic,
      partitionKey: this.#partitionKeyOf(header.destinationId),
      key: record.key,
      value,
      headers: { [envelopeHeader]: next },
    };
    this.#write(copy, (refused) => {
      if (refused === undefined) record.finish();
      else record.release();
    });
  }

  #giveUp(job: Job, { reason, detail, attempts, outcome }: Omit<GiveUp, 'kind'>): void {
    const lastAnswer =
      outcome === undefined ? job.envelope.lastAnswer : this.#lastAnswer(job, outcome);
    const { deadlineMs } = job;
    const envelope = { ...job.envelope, attempts, deadlineMs, lastAnswer };
    // Headers of its own, which have room for more, tell of the answer.
    const header = encodeEnvelope({ ...envelope, lastAnswer: undefined });
    const why = { reason, detail, answer: outcome?.answer };
    this.#deadLetter(job.record, job.claim, header, envelope, why);
  }

  /** For a record whose envelope cannot be read: what it has instead is kept. */
  malformed(record: TakenRecord, claim: Claim, detail: string): void {
    const header = record.headers[envelopeHeader];
    this.#deadLetter(record, claim, header, undefined, { reason: 'malformed', detail });
  }

  #retry(job: Job, { plan, outcome }: Extract<Ending, { kind: 'retry' }>): void {
    this.#putOff(job, job.envelope.attempts + 1, plan, this.#lastAnswer(job, outcome));
  }

  #putOff(
    job: Job,
    attempts: number,
    { tierMs, dueMs, deadlineMs }: Later,
    lastAnswer: LastAnswer | undefined = job.envelope.lastAnswer,
  ): void {
    // Its new owner delivers it again, and counts this attempt by itself.
    if (job.claim.lost || this.#closed) return;
    const { record, envelope } = job;
    const { destinationId } = envelope;
    const next = encodeEnvelope({ ...envelope, attempts, deadlineMs, dueMs, lastAnswer });
    this.#writeToRetry({ tierMs, destinationId }, record, next, (refused) => {
      if (refused === undefined) record.finish();
      else this.#giveUp(job, recordRefused(refused, attempts));
    });
  }

  #lastAnswer(job: Job, outcome: Retryable | Permanent): LastAnswer {
    const retryAfterMs = outcome.kind === 'retryable' ? outcome.retryAfterMs : undefined;
    const { detail, answer } = outcome;
    return lastAnswerOf(this.#clock.now(), { detail, retryAfterMs }, job.outcomeUrl, answer);
  }

  #putOffGathered(gathered: Gathered): void {
    const { claim, plan, key, header, packed, receipts } = gathered;
    if (claim.lost || this.#closed) return;
    const value = compressEvents(packed);
    const to = { tierMs: plan.tierMs, destinationId: header.destinationId };
    this.#writeToRetry(to, { key, value }, encodeBundleHeader(header), (refused) => {
      if (refused === undefined) {
        receipts.finish();
        return;
      }
      // Each by itself is smaller.
      const records = receipts.recordsOf(claim, decompressEvents(value) ?? []);
      for (const job of this.#jobsOf(records, claim, header))
        this.#putOffAlone(job, plan.tierMs, plan.dueMs);
    });
  }

  #jobsOf(records: readonly TakenRecord[], claim: Claim, header: BundleHeader): Job[] {
    return records.flatMap((record) => {
      const job = jobOfBundled(record, claim, header);
      if (job === undefined) this.malformed(record, claim, 'no readable envelope');
      return job ?? [];
    });
  }

  /** An event whose deadline is decided. */
  #putOffAlone(job: Job, tierMs: number, dueMs: number): void {
    const { deadlineMs } = job;
    const plan: Later = { kind: 'later', tierMs, dueMs, deadlineMs };
    this.#putOff(job, job.envelope.attempts, plan);
  }

  #deadLetter(
    record: TakenRecord,
    claim: Claim,
    header: HeaderValue | undefined,
    envelope: Envelope | undefined,
    { reason, detail, answer }: Why,
  ): void {
    if (claim.lost || this.#closed) return;
    this.#events.deadLettered(record, envelope, { reason, detail });
    const last = envelope?.lastAnswer;
    const said = answer ?? last?.body;
    const copy = {
      topic: this.#topics.deadLetter,
      key: record.key,
      value: record.value,
      headers: {
        ...(header === undefined ? {} : { [envelopeHeader]: header }),
        [reasonHeader]: reason,
        [detailHeader]: detail,
        ...(said === undefined ? {} : { [answerHeader]: said }),
        ...(last === undefined
          ? {}
          : { [lastAnswerHeader]: encodeLastAnswer({ ...last, body: undefined }) }),
      },
    };
    this.#write(copy, (refused) => {
      if (refused === undefined) {
        record.finish();
        return;
      }
      // Neither delivered nor kept anywhere else: its offset must not be committed. Nothing more is done
      // about it either, so nobody need wait for that when the partition goes.
      this.#events.partitionStuck(claim, record.offset, refused);
      record.release();
    });
  }

  #writeToRetry(
    { tierMs, destinationId }: RetryPlace,
    { key, value }: Pick<OutgoingRecord, 'key' | 'value'>,
    header: string,
    done: (refused?: PostriderError) => void,
  ): void {
    const topic = this.#topics.retryTopic(tierMs);
    const partitionKey = this.#partitionKeyOf(destinationId);
    // Where all of a destination's events come from one partition, a window full of them could wait for the
    // producer, and with it whatever else comes from that partition.
    const mayWait = partitionKey === undefined;
    const headers = { [envelopeHeader]: header };
    this.#write({ topic, partitionKey, key, value, headers, mayWait }, done);
  }

  #write(copy: OutgoingRecord, done: (refused?: PostriderError) => void): void {
    this.#writing += 1;
    this.#sink.produce(copy, (refused) => {
      this.#writing -= 1;
      done(refused);
    });
  }
}

/** Of a copy that Kafka takes into no topic of ours but the dead letters, which allow more. */
function recordRefused({ message }: Error, attempts: number): Omit<GiveUp, 'kind'> {
  return { reason: 'record-refused', detail: message, attempts };
}
