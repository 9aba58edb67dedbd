import { envelopeHeader } from '../event/envelope.ts';
import type { Finisher } from '../kafka/consume/consumed-record.ts';
import type { Claim, TakenRecord } from './job.ts';
import { packedBytes, packRecord, recordAt, unpackRecord } from './packing.ts';

/** A record of a retry topic while it waits: its packed bytes, and the place to finish. */
export interface HeldRecord {
  readonly dueMs: number;
  readonly packed: Buffer;
  readonly start: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly owner: Finisher;
  readonly slot: number;
  /** Of `packed`. */
  readonly bytes: number;
  /** It leaves its room in the window of its partition to others. */
  isAside: boolean;
}

const chunkBytes = 16 * 1024;
const nothing = Buffer.alloc(0);

/**
 * Where one partition's records wait. As objects, they would be a dozen each and would keep the fetch
 * response that they came with. Reading a packed record a second time costs less than keeping it as objects
 * for minutes.
 */
export class RecordShelf {
  #chunk = Buffer.alloc(0);
  #usedBytes = 0;

  put(
    { key, value, headers, offset, timestampMs, owner, slot }: TakenRecord,
    dueMs: number,
  ): HeldRecord {
    const header = headers[envelopeHeader] ?? nothing;
    const body = value ?? nothing;
    const bytes = packedBytes(key, header.length, body);
    if (this.#usedBytes + bytes > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(bytes, chunkBytes));
      this.#usedBytes = 0;
    }
    const start = this.#usedBytes;
    this.#usedBytes = packRecord(this.#chunk, start, key, header, body);
    const packed = this.#chunk;
    return { dueMs, packed, start, offset, timestampMs, owner, slot, bytes, isAside: false };
  }
}

/** Makes a record of its packed form. */
export function takeDown(held: HeldRecord, { topic, partition }: Claim): TakenRecord {
  const { packed, start, offset, timestampMs, owner, slot } = held;
  const content = unpackRecord(packed, start);
  if (content === undefined) throw new RangeError('no record lies there');
  return recordAt({ topic, partition, offset, timestampMs }, content, owner, slot);
}
