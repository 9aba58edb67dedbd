import { decodeEnvelope, envelopeHeader } from '../../event/envelope.ts';
import type { Held } from '../due-gate.ts';
import { Job } from '../job.ts';
import type { Claim, TakenRecord } from '../job.ts';
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
  unpack(): TakenRecord[] | undefined {
    const { record, header } = this;
    const events = record.value === null ? undefined : decompressEvents(record.value);
    if (events?.length !== header.events) return undefined;
    let unfinished = events.length;
    const finish = (): void => {
      unfinished -= 1;
      if (unfinished === 0) record.finish();
    };
    return events.map((event) => new BundledRecord(event, record, finish));
  }
}

/** A record for each event of what was not written as a bundle, in the place of the one that it came in. */
export function unpackGathered(
  records: readonly TakenRecord[],
  events: readonly BundledEvent[],
): TakenRecord[] {
  return records.flatMap((record, index) => {
    const event = events[index];
    const finish = (): void => {
      record.finish();
    };
    return event === undefined ? [] : new BundledRecord(event, record, finish);
  });
}

/** Undefined without a readable envelope. */
export function jobOfBundled(
  record: TakenRecord,
  claim: Claim,
  { deadlineMs }: BundleHeader,
): Job | undefined {
  const bytes = record.headers[envelopeHeader];
  const envelope = bytes === undefined ? undefined : decodeEnvelope(bytes);
  if (envelope === undefined || record.value === null) return undefined;
  const job = new Job(record, claim, envelope, record.value);
  job.deadlineMs ??= deadlineMs;
  return job;
}

/** An event of a bundle, as a record of its own in the bundle's place. */
class BundledRecord implements TakenRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  headers: TakenRecord['headers'];
  key: Buffer | null;
  value: Buffer | null;
  #finish: (() => void) | undefined;

  constructor({ key, envelope, body }: BundledEvent, origin: TakenRecord, finish: () => void) {
    this.topic = origin.topic;
    this.partition = origin.partition;
    this.offset = origin.offset;
    this.timestampMs = origin.timestampMs;
    this.headers = { [envelopeHeader]: envelope };
    this.key = key;
    this.value = body;
    this.#finish = finish;
  }

  finish(): void {
    this.#finish?.();
    this.#finish = undefined;
  }

  detach(): void {
    // Its buffers are slices of what was unpacked, and of no fetch response.
  }

  release(): void {
    this.key = null;
    this.value = null;
    this.headers = {};
  }
}
