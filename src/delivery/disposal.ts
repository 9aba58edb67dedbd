import type { PostriderError } from '../errors.ts';
import { encodeEnvelope, envelopeHeader, isFromNewerRelease } from '../event/envelope.ts';
import type { Envelope } from '../event/envelope.ts';
import { encodeLastAnswer, type LastAnswer } from '../event/last-answer.ts';
import { answerHeader, detailHeader, lastAnswerHeader, reasonHeader } from '../event/headers.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { HeaderValue, OutgoingRecord } from '../kafka/record.ts';
import type { SteadyClock } from '../ops/clock.ts';
import { looksForKeptMs, type FollowedPauses } from '../resources/pauses/pauses.ts';
import { jobOfBundled, type Bundle } from './bundle/bundle.ts';
import { Bundler } from './bundle/bundler.ts';
import {
  compressEvents,
  decompressEvents,
  encodeBundleHeader,
  type BundleHeader,
} from './bundle/format.ts';
import type { Gathering } from './bundle/gathering.ts';
import type { DeliveryEvents } from './events.ts';
import { bodyText, type KeptAnswer } from './kept-answer.ts';
import type { Claim, Job } from './job.ts';
import type { TakenRecord } from '../kafka/consume/taken-record.ts';
import { EventPacker } from './packing.ts';
import type { PackedRecord } from './packing.ts';
import type { Later, RetryPolicy } from './retry-policy.ts';
import type { Spells } from './status/objective.ts';
import type { Ending, GiveUp, PutOff } from './verdict.ts';

export interface DisposalTopics {
  retryTopic(tierMs: number): string;
  /** Undefined for a topic that is no retry topic. */
  retryTierMs(topic: string): number | undefined;
  dedicatedTopic(destinationId: string): string;
  readonly deadLetter: string;
  /** The topic in which events of paused destinations are kept. */
  readonly paused: string;
}

export interface DisposalDeps {
  /** The producer of the records that are not delivered. */
  readonly sink: Pick<Producer, 'produce'>;
  readonly topics: DisposalTopics;
  /** The key that the partition of a destination's events is computed from; undefined: each event's own key. */
  readonly partitionKeyOf: (destinationId: string) => string | undefined;
  readonly policy: Pick<RetryPolicy, 'tiersMs'>;
  readonly events: DeliveryEvents;
  readonly spells: Pick<Spells, 'explainsDelivery'>;
  readonly clock: SteadyClock;
  readonly paused: Pick<FollowedPauses, 'has' | 'isFresh'>;
  /** The job's copy among the kept events may never be looked for. */
  readonly onForgotten: (job: Job) => void;
  /** The dedicated topic that the job should wait in cannot be written. */
  readonly onHomeless: (job: Job) => void;
}

/** A destination that was known to be paused, as of 2 s before, when the copy was begun. */
const surelyFoundMs = looksForKeptMs - 3_000;
/** While it waits for its home, an event takes the room of others. */
const homePatienceMs = 2_000;

interface Why extends Pick<GiveUp, 'reason' | 'detail'> {
  /** The endpoint's answer, if the attempt has just ended. */
  readonly answer?: KeptAnswer | undefined;
}

type RetryPlace = Pick<Later, 'tierMs'> & { readonly destinationId: string };

/** Copies records to where they go next; only an acknowledged copy finishes the original. */
export class Disposal {
  readonly #sink: DisposalDeps['sink'];
  readonly #topics: DisposalTopics;
  readonly #tiersMs: readonly number[];
  readonly #partitionKeyOf: DisposalDeps['partitionKeyOf'];
  readonly #events: DeliveryEvents;
  readonly #spells: DisposalDeps['spells'];
  readonly #clock: SteadyClock;
  readonly #paused: DisposalDeps['paused'];
  readonly #onForgotten: DisposalDeps['onForgotten'];
  readonly #onHomeless: DisposalDeps['onHomeless'];
  readonly #bundler: Bundler;
  #writing = 0;
  #closed = false;

  constructor(deps: DisposalDeps) {
    const { sink, topics, policy, partitionKeyOf, events, spells, clock } = deps;
    this.#sink = sink;
    this.#topics = topics;
    this.#tiersMs = policy.tiersMs;
    this.#partitionKeyOf = partitionKeyOf;
    this.#events = events;
    this.#spells = spells;
    this.#clock = clock;
    this.#paused = deps.paused;
    this.#onForgotten = deps.onForgotten;
    this.#onHomeless = deps.onHomeless;
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

  /** Copies that are not acknowledged yet, including those not sent yet. */
  get writing(): number {
    return this.#writing + this.#bundler.events;
  }

  /** Ends all writing. Jobs that end later stay unfinished. */
  close(): void {
    this.#closed = true;
    this.#bundler.close();
  }

  /** The job's record is finished by it, as soon as nothing can be lost by that. */
  carryOut(job: Job, ending: Ending): void {
    switch (ending.kind) {
      case 'finish':
        this.#events.delivered(job, this.#spells);
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
        this.#events.retryPlanned(job, ending.plan, job.line === undefined ? undefined : 'left');
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
    // Under a rate limit, each event has its own turn; in a line, the next one waits for the copy.
    if (cause === 'rate-limit' || job.line !== undefined)
      this.#putOff(job, job.envelope.attempts, plan);
    else this.#bundler.add(job, plan);
  }

  /** The event stays in the topic `paused` until its destination is resumed. No retry clock runs. */
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
    const begunMs = this.#clock.steadyNow();
    this.#write(copy, (refused) => {
      if (refused !== undefined || this.#isSurelyFound(envelope, begunMs))
        this.#copied(job, refused, envelope.attempts);
      else if (!job.claim.lost && !this.#closed) this.#onForgotten(job);
    });
  }

  /** `resume` is sure to find the event: its destination is still paused, or `resume` is not done with looking. */
  #isSurelyFound({ destinationId: id, uid }: Envelope, begunMs: number): boolean {
    if (this.#clock.steadyNow() - begunMs <= surelyFoundMs) return true;
    return this.#paused.isFresh() && this.#paused.has({ id, uid });
  }

  /**
   * Copies the event to the dedicated topic of its destination, where events wait for their turn under the
   * rate limit.
   */
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
      elsewhereAfterMs: homePatienceMs,
    };
    this.#write(copy, (refused) => {
      if (refused?.code === 'unwritable') this.#onHomeless(job);
      else this.#copied(job, refused, envelope.attempts);
    });
  }

  /** Writes the bundle as it is to a retry topic, so the plan has to suit each of its events. */
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

  /** The bundle's events. Unreadable content becomes a dead letter. */
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
      outcome === undefined ? job.envelope.lastAnswer : job.lastAnswer(outcome, this.#clock.now());
    const { deadlineMs } = job;
    const envelope = { ...job.envelope, attempts, deadlineMs, lastAnswer };
    // Headers of its own, which have room for more, tell of the answer.
    const header = encodeEnvelope({ ...envelope, lastAnswer: undefined });
    const why = { reason, detail, answer: outcome?.answer };
    this.#deadLetter(job.record, job.claim, header, envelope, why, () => {
      job.copied();
    });
  }

  /** Ends a record whose header cannot be read, by this worker or by anybody. */
  unreadable(record: TakenRecord, claim: Claim, detail: string): void {
    if (isFromNewerRelease(record.headers[envelopeHeader])) this.awaitNewerRelease(record, claim);
    else this.malformed(record, claim, detail);
  }

  /** A dead letter, with what the record has instead of what can be read. */
  malformed(record: TakenRecord, claim: Claim, detail: string): void {
    const header = record.headers[envelopeHeader];
    this.#deadLetter(record, claim, header, undefined, { reason: 'malformed', detail });
  }

  /**
   * A newer release wrote it in a format that cannot be read here. It goes to the next longer retry topic, and
   * to a partition that another worker may own: a worker of that release takes it from there. However long that
   * takes it is no dead letter, because nothing is wrong with it.
   */
  awaitNewerRelease(record: TakenRecord, claim: Claim): void {
    if (claim.lost || this.#closed) return;
    const { key, value, headers, offset } = record;
    const { topic, partition } = claim;
    this.#events.formatUnknown(claim, offset);
    const header = headers[envelopeHeader];
    const formerMs = this.#topics.retryTierMs(topic) ?? 0;
    const tierMs = this.#tiersMs.find((each) => each > formerMs) ?? this.#tiersMs.at(-1) ?? 0;
    const copy = {
      topic: this.#topics.retryTopic(tierMs),
      partitionKey: `${topic}:${partition}:${offset}`,
      key,
      value,
      headers: header === undefined ? {} : { [envelopeHeader]: header },
      mayWait: true,
    };
    this.#write(copy, (refused) => {
      if (refused === undefined) record.finish();
      else
        this.#deadLetter(record, claim, header, undefined, {
          reason: 'record-refused',
          detail: refused.message,
        });
    });
  }

  #retry(job: Job, { plan, outcome }: Extract<Ending, { kind: 'retry' }>): void {
    this.#putOff(job, job.envelope.attempts + 1, plan, job.lastAnswer(outcome, this.#clock.now()));
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
    const waiting = { ...envelope, attempts, deadlineMs, dueMs, lastAnswer };
    const next = encodeEnvelope(waiting);
    this.#writeToRetry({ tierMs, destinationId }, record, next, (refused) => {
      this.#copied(job, refused, attempts);
    });
  }

  /**
   * The job's only copy is acknowledged, or refused for good. Every topic but `dead-letter`, which allows larger
   * records, may refuse one.
   */
  #copied(job: Job, refused: PostriderError | undefined, attempts: number): void {
    if (refused === undefined) job.copied();
    else this.#giveUp(job, { reason: 'record-refused', detail: refused.message, attempts });
  }

  #putOffGathered(gathered: Gathering): void {
    const { claim, plan, key, header, packed, receipts } = gathered;
    if (claim.lost || this.#closed) return;
    const value = compressEvents(packed);
    const to = { tierMs: plan.tierMs, destinationId: header.destinationId };
    this.#writeToRetry(to, { key, value }, encodeBundleHeader(header), (refused) => {
      if (refused === undefined) {
        receipts.finish();
        return;
      }
      // Each event by itself is smaller than the bundle that Kafka refused.
      const records = receipts.recordsOf(claim, decompressEvents(value) ?? []);
      for (const job of this.#jobsOf(records, claim, header))
        this.#putOffAlone(job, plan.tierMs, plan.dueMs);
    });
  }

  #jobsOf(records: readonly TakenRecord[], claim: Claim, header: BundleHeader): Job[] {
    return records.flatMap((record) => {
      const job = jobOfBundled(record, claim, header);
      if (job === undefined) this.unreadable(record, claim, 'no readable envelope');
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
    written: () => void = () => {
      record.finish();
    },
  ): void {
    if (claim.lost || this.#closed) return;
    this.#events.deadLettered(record, envelope, { reason, detail });
    const last = envelope?.lastAnswer;
    const said = (answer && (answer.isCut ? bodyText(answer) : answer.body)) ?? last?.body;
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
        written();
        return;
      }
      // The record was neither delivered nor copied, so its offset must not be committed. Nothing more is
      // done about it, so nobody has to wait for the record when the partition moves.
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
    // Where all events of a destination come from one partition, a window full of copies that wait for a
    // fuller batch would hold up the partition.
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
