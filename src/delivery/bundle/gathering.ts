import { ageFromMs, encodeEnvelope, envelopeHeader } from '../../event/envelope.ts';
import type { Envelope } from '../../event/envelope.ts';
import type { RecordOwner, TakenRecord } from '../../kafka/consume/taken-record.ts';
import type { Claim, Job } from '../job.ts';
import { packedBytes, recordAt, type EventPacker, type PackedRecord } from '../packing.ts';
import type { Later } from '../retry-policy.ts';
import { mostEvents } from './format.ts';
import type { BundleHeader } from './format.ts';

/** The event that reaches this size is the last one of the bundle. */
const mostBundleBytes = 64 * 1024;
/**
 * An event's window may end this much earlier because the event is in a bundle. Gathering a bundle takes no
 * longer.
 */
const impliedWithinMs = 1_000;

/** The first event of a possible bundle, while no second one has come. */
export class Lone {
  readonly job: Job;
  readonly plan: Later;

  constructor(job: Job, plan: Later) {
    this.job = job;
    this.plan = plan;
  }

  get destinationId(): string {
    return this.job.envelope.destinationId;
  }
}

/** The event fills a bundle by itself, by its body or its ids. */
export function isLarge({ record, body }: Job): boolean {
  const envelopeBytes = record.headers[envelopeHeader]?.length ?? 0;
  return packedBytes(record.key, envelopeBytes, body) >= mostBundleBytes;
}

/** Two events may share a bundle: events whose retry clock runs are not mixed with others. */
export function isAlike(one: Later, other: Later): boolean {
  return (
    one.tierMs === other.tierMs &&
    (one.deadlineMs === undefined) === (other.deadlineMs === undefined)
  );
}

/** Two or more events of one partition and one destination that are put off together, packed. */
export class Gathering {
  readonly claim: Claim;
  readonly destinationId: string;
  readonly #uid: string | undefined;
  /** The key of the first event; the others are of the same partition. */
  readonly key: Buffer | null;
  /** The plan of the first event; the others go to the same tier. */
  readonly plan: Later;
  /** The places of the records that the events came in. */
  readonly receipts: Receipts = new Receipts();
  readonly packer: EventPacker;
  #deadlineMs: number | undefined;
  #impliedDeadlineMs: number | undefined;
  #oldestMs = Infinity;

  constructor({ job, plan }: Lone, packer: EventPacker) {
    const { claim, envelope, record } = job;
    this.claim = claim;
    this.destinationId = envelope.destinationId;
    this.#uid = envelope.uid;
    // In the pool that small buffers share, it would hold on to all of the pool.
    this.key = record.key === null ? null : Buffer.alloc(record.key.length, record.key);
    this.packer = packer;
    this.plan = plan;
    this.#deadlineMs = plan.deadlineMs;
    this.add(job, plan);
  }

  get isFull(): boolean {
    return this.receipts.count >= mostEvents || this.packer.bytes >= mostBundleBytes;
  }

  /** The events' bytes, which the next bundle of the packer overwrites. */
  get packed(): Buffer {
    return this.packer.packed;
  }

  get header(): BundleHeader {
    return {
      destinationId: this.destinationId,
      uid: this.#uid,
      events: this.receipts.count,
      dueMs: this.plan.dueMs,
      deadlineMs: this.#deadlineMs,
      impliedDeadlineMs: this.#impliedDeadlineMs,
      oldestMs: this.#oldestMs,
    };
  }

  add({ record, envelope, body }: Job, { deadlineMs }: Later): void {
    // The envelope as it came, if that says it all: nothing is put together, and nothing to be collected.
    const asItCame = this.#isSaid(envelope, deadlineMs)
      ? record.headers[envelopeHeader]
      : undefined;
    const header = asItCame ?? encodeEnvelope({ ...envelope, deadlineMs });
    this.packer.add(record.key, header, body);
    this.receipts.add(record);
    if (deadlineMs !== undefined && this.#deadlineMs !== undefined)
      this.#deadlineMs = Math.min(this.#deadlineMs, deadlineMs);
    this.#oldestMs = Math.min(this.#oldestMs, ageFromMs(envelope));
  }

  /** The envelope and the bundle's header together say when the event's retry window ends. */
  #isSaid(envelope: Envelope, deadlineMs: number | undefined): boolean {
    if (envelope.deadlineMs === deadlineMs) return true;
    if (envelope.deadlineMs !== undefined || deadlineMs === undefined) return false;
    this.#impliedDeadlineMs ??= deadlineMs;
    const laterByMs = deadlineMs - this.#impliedDeadlineMs;
    return laterByMs >= 0 && laterByMs < impliedWithinMs;
  }
}

/**
 * Remembers the places of a partition's records that were copied, to finish them later. Keeping the records
 * themselves would be the largest part of what survives young collections.
 */
class Receipts {
  readonly #owners: RecordOwner[] = [];
  readonly #slots: number[] = [];
  readonly #offsets: number[] = [];

  get count(): number {
    return this.#slots.length;
  }

  add({ owner, slot, offset }: TakenRecord): void {
    this.#owners.push(owner);
    this.#slots.push(slot);
    this.#offsets.push(offset);
  }

  finish(): void {
    this.#slots.forEach((slot, index) => this.#owners[index]?.finish(slot));
  }

  /** Makes records with the places of the original ones from `events`, their packed copies. */
  recordsOf({ topic, partition }: Claim, events: readonly PackedRecord[]): TakenRecord[] {
    return events.flatMap((event, index) => {
      const owner = this.#owners[index];
      if (owner === undefined) return [];
      const place = { topic, partition, offset: this.#offsets[index] ?? NaN, timestampMs: NaN };
      return recordAt(place, event, owner, this.#slots[index] ?? NaN);
    });
  }
}
