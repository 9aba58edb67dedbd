import { decodeEnvelope, envelopeHeader } from '../../event/envelope.ts';
import type { Held } from '../due-gate.ts';
import { Job } from '../job.ts';
import type { Claim, RecordOwner, TakenRecord } from '../job.ts';
import { decodeBundleHeader, decompressEvents } from './format.ts';
import type { BundledEvent, BundleHeader } from './format.ts';

/** A record of a retry topic that carries several events of one destination. */
export class Bundle implements Held {
  readonly record: TakenRecord;
  readonly claim: Claim;
  readonly header: BundleHeader;

  private constructor(record: TakenRecord, claim: Claim, header: BundleHeader) {
    this.record = record;
    this.claim = claim;
    this.header = header;
  }

  /** Undefined if the record does not say that it is one. */
  static of(record: TakenRecord, claim: Claim): Bundle | undefined {
    const bytes = record.headers[envelopeHeader];
    const header = bytes === undefined ? undefined : decodeBundleHeader(bytes);
    return header === undefined ? undefined : new Bundle(record, claim, header);
  }

  detach(): void {
    this.record.detach();
  }

  /** A record for each of its events; undefined if they cannot be read. The last to finish finishes it. */
  unpack(): BundledRecord[] | undefined {
    const { record, header } = this;
    const events = record.value === null ? undefined : decompressEvents(record.value);
    if (events?.length !== header.events) return undefined;
    const owner = new BundleOwner(record, events.length);
    return events.map((event, slot) => new BundledRecord(event, record, owner, slot));
  }
}

/** Finishes a bundle's record with the last of its events. */
class BundleOwner implements RecordOwner {
  readonly #record: TakenRecord;
  readonly #isFinished: boolean[];
  #unfinished: number;

  constructor(record: TakenRecord, events: number) {
    this.#record = record;
    this.#isFinished = new Array<boolean>(events).fill(false);
    this.#unfinished = events;
  }

  finish(slot: number): void {
    if (this.#isFinished[slot] !== false) return;
    this.#isFinished[slot] = true;
    this.#unfinished -= 1;
    if (this.#unfinished === 0) this.#record.finish();
  }
}

/** Undefined without a readable envelope. */
export function jobOfBundled(
  record: BundledRecord,
  claim: Claim,
  { deadlineMs, impliedDeadlineMs = deadlineMs }: BundleHeader,
): Job | undefined {
  const envelope = decodeEnvelope(record.headers[envelopeHeader]);
  if (envelope === undefined) return undefined;
  const job = new Job(record, claim, envelope, record.value);
  job.deadlineMs ??= impliedDeadlineMs;
  job.hasReturned = true;
  return job;
}

type Place = Pick<TakenRecord, 'topic' | 'partition' | 'offset' | 'timestampMs'>;

/** An event of a bundle, as a record of its own in the place where it was read. */
export class BundledRecord implements TakenRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly headers: { readonly [envelopeHeader]: Buffer };
  readonly key: Buffer | null;
  readonly value: Buffer;
  readonly owner: RecordOwner;
  readonly slot: number;

  constructor(
    { key, envelope, body }: BundledEvent,
    place: Place,
    owner: RecordOwner,
    slot: number,
  ) {
    this.topic = place.topic;
    this.partition = place.partition;
    this.offset = place.offset;
    this.timestampMs = place.timestampMs;
    this.headers = { [envelopeHeader]: envelope };
    this.key = key;
    this.value = body;
    this.owner = owner;
    this.slot = slot;
  }

  finish(): void {
    this.owner.finish(this.slot);
  }

  detach(): void {
    // Its buffers are slices of what was unpacked, and of no fetch response.
  }
}
