import { decodeEnvelope, envelopeHeader } from '../../event/envelope.ts';
import type { Held } from '../due-gate.ts';
import { Job } from '../job.ts';
import type { Claim, TakenRecord } from '../job.ts';
import type { Gathered } from './bundler.ts';
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

  /** A job for each of its events; undefined if they cannot be read. The last to finish finishes the record. */
  unpack(): Job[] | undefined {
    const { record, claim, header } = this;
    const events = record.value === null ? undefined : decompressEvents(record.value);
    if (events?.length !== header.events) return undefined;
    let unfinished = events.length;
    const finish = (): void => {
      unfinished -= 1;
      if (unfinished === 0) record.finish();
    };
    const jobs: Job[] = [];
    for (const event of events) {
      const job = jobOf(event, claim, record, finish);
      if (job === undefined) return undefined;
      job.deadlineMs ??= header.deadlineMs;
      jobs.push(job);
    }
    return jobs;
  }
}

/** What was put off together, as single jobs again. */
export function unpackGathered(
  { records, claim }: Gathered,
  events: readonly BundledEvent[],
): Job[] {
  return records.flatMap((record, index) => {
    const event = events[index];
    const finish = (): void => {
      record.finish();
    };
    return event === undefined ? [] : (jobOf(event, claim, record, finish) ?? []);
  });
}

function jobOf(
  event: BundledEvent,
  claim: Claim,
  origin: TakenRecord,
  finish: () => void,
): Job | undefined {
  const envelope = decodeEnvelope(event.envelope);
  if (envelope === undefined) return undefined;
  return new Job(new BundledRecord(event, origin, finish), claim, envelope, event.body);
}

/** An event of a bundle, as a record of its own in the bundle's place. */
class BundledRecord implements TakenRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly headers = {};
  key: Buffer | null;
  value: Buffer | null;
  #finish: (() => void) | undefined;

  constructor({ key, body }: BundledEvent, origin: TakenRecord, finish: () => void) {
    this.topic = origin.topic;
    this.partition = origin.partition;
    this.offset = origin.offset;
    this.timestampMs = origin.timestampMs;
    this.key = key;
    this.value = body;
    this.#finish = finish;
  }

  finish(): void {
    this.#finish?.();
    this.#finish = undefined;
  }

  detach(): void {
    if (this.key !== null) this.key = Buffer.from(this.key);
    if (this.value !== null) this.value = Buffer.from(this.value);
  }

  release(): void {
    this.key = null;
    this.value = null;
  }
}
