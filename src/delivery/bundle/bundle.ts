import { decodeEnvelope, envelopeHeader } from '../../event/envelope.ts';
import type { RecordOwner, TakenRecord } from '../../kafka/consume/taken-record.ts';
import { Job } from '../job.ts';
import type { Claim } from '../job.ts';
import { packedBytes, recordAt } from '../packing.ts';
import type { PackedRecord } from '../packing.ts';
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

  /** Undefined if the record's header is not that of a bundle. */
  static of(record: TakenRecord, claim: Claim): Bundle | undefined {
    const bytes = record.headers[envelopeHeader];
    const header = bytes === undefined ? undefined : decodeBundleHeader(bytes);
    return header === undefined ? undefined : new Bundle(record, claim, header);
  }

  /**
   * A record for each of its events; undefined if they cannot be read. Its own record is finished with the
   * last of them, or released if all were released. If only some were, `onRest` is called, which has to
   * finish or release it.
   */
  unpack(onRest: (rest: readonly PackedRecord[]) => void): TakenRecord[] | undefined {
    const { record } = this;
    const events = this.#events();
    if (events === undefined) return undefined;
    const owner = new BundleOwner(this, events, (slots) => {
      onRest((this.#events() ?? []).filter((_, slot) => slots.has(slot)));
    });
    return events.map((event, slot) => recordAt(record, event, owner, slot));
  }

  #events(): PackedRecord[] | undefined {
    const { value } = this.record;
    const said = this.header.events;
    const events = value === null ? undefined : decompressEvents(value, said);
    return events?.length === said ? events : undefined;
  }
}

/**
 * Ends a bundle's record with the last of its events, and not before, because this worker still owns the
 * events that are under way.
 */
class BundleOwner implements RecordOwner {
  readonly #bundle: Bundle;
  readonly #bytes: number;
  readonly #onRest: (slots: ReadonlySet<number>) => void;
  readonly #isOver: boolean[];
  #left: number;
  #released: Set<number> | undefined;

  constructor(
    bundle: Bundle,
    events: readonly PackedRecord[],
    onRest: (slots: ReadonlySet<number>) => void,
  ) {
    this.#bundle = bundle;
    this.#bytes = events.reduce(
      (bytes, { key, header, value }) => bytes + packedBytes(key, header.length, value),
      0,
    );
    this.#onRest = onRest;
    this.#isOver = new Array<boolean>(events.length).fill(false);
    this.#left = events.length;
    bundle.claim.unpackedBytes.add(bundle.header.destinationId, events.length, this.#bytes);
  }

  finish(slot: number): void {
    if (this.#isOver[slot] !== false) return;
    this.#isOver[slot] = true;
    this.#left -= 1;
    if (this.#left > 0) return;
    const { record, claim, header } = this.#bundle;
    claim.unpackedBytes.remove(header.destinationId, this.#isOver.length, this.#bytes);
    if (this.#released === undefined) record.finish();
    else if (this.#released.size === this.#isOver.length) record.release();
    else this.#onRest(this.#released);
  }

  release(slot: number): void {
    if (this.#isOver[slot] !== false) return;
    this.#released ??= new Set();
    this.#released.add(slot);
    this.finish(slot);
  }
}

/** Undefined if the envelope cannot be read. */
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
