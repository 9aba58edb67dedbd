import { envelopeHeader } from '../event/envelope.ts';
import type { Finisher } from '../kafka/consume/consumed-record.ts';
import type { Claim, TakenRecord } from './job.ts';
import { packedBytes, packRecord, recordAt, unpackRecord } from './packing.ts';

/** What a record of a retry topic is while it waits: its bytes among others', and where it is to be finished. */
export interface HeldRecord {
  readonly dueMs: number;
  readonly packed: Buffer;
  readonly start: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly owner: Finisher;
  readonly slot: number;
}

const chunkBytes = 16 * 1024;
const nothing = Buffer.alloc(0);

/**
 * Where one partition's records wait. A record by itself is a dozen objects, and would hold on to the fetch
 * response that it came with; one that waits for minutes costs more to keep than to read a second time.
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
    return { dueMs, packed: this.#chunk, start, offset, timestampMs, owner, slot };
  }
}

/** As it was put on the shelf. */
export function takeDown(held: HeldRecord, { topic, partition }: Claim): TakenRecord {
  const { packed, start, offset, timestampMs, owner, slot } = held;
  const content = unpackRecord(packed, start);
  if (content === undefined) throw new RangeError('no record lies there');
  return recordAt({ topic, partition, offset, timestampMs }, content, owner, slot);
}
