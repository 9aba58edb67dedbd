import { decodeEnvelope, envelopeHeader } from '../../event/envelope.ts';
import type { Finisher } from '../../kafka/consume/consumed-record.ts';
import { Job } from '../job.ts';
import type { Claim, TakenRecord } from '../job.ts';
import { recordAt } from '../packing.ts';
import { decodeBundleHeader, decompressEvents } from './format.ts';
import type { BundleHeader } from './format.ts';

/** A record of a retry topic that carries several events of one destination. */
export class Bundle {
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

  /** A record for each of its events; undefined if they cannot be read. The last to finish finishes it. */
  unpack(): TakenRecord[] | undefined {
    const { record, header } = this;
    const events = record.value === null ? undefined : decompressEvents(record.value);
    if (events?.length !== header.events) return undefined;
    const owner = new BundleOwner(record, events.length);
    return events.map((event, slot) => recordAt(record, event, owner, slot));
  }
}

/** Finishes a bundle's record with the last of its events. */
class BundleOwner implements Finisher {
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
  record: TakenRecord,
  claim: Claim,
  { deadlineMs, impliedDeadlineMs = deadlineMs }: BundleHeader,
): Job | undefined {
  const bytes = record.headers[envelopeHeader];
  const envelope = bytes === undefined ? undefined : decodeEnvelope(bytes);
  if (envelope === undefined || record.value === null) return undefined;
  const job = new Job(record, claim, envelope, record.value);
  job.deadlineMs ??= impliedDeadlineMs;
  job.hasReturned = true;
  return job;
}
