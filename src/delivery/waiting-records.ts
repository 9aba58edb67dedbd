import { envelopeHeader } from '../event/envelope.ts';
import type { RecordOwner, TakenRecord } from '../kafka/consume/taken-record.ts';
import type { Claim } from './job.ts';
import { packedBytes, packRecord, recordAt, unpackRecord } from './packing.ts';

/** A record of a retry topic while it waits: its packed bytes, and the place to finish. */
export interface HeldRecord {
  readonly dueMs: number;
  readonly packed: Buffer;
  readonly start: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly owner: RecordOwner;
  readonly slot: number;
  /** The size of the packed record. */
  readonly bytes: number;
  /** The record leaves its room in the window of its partition to others. */
  isAside: boolean;
}

/** Records that wait for their due time: a binary heap. */
export class WaitingRecords {
  #heap: HeldRecord[] = [];
  readonly #shelf = new RecordShelf();
  /** The number of records that leave the window of their partition to others. */
  aside = 0;

  get size(): number {
    return this.#heap.length;
  }

  get firstDueMs(): number {
    return this.#heap[0]?.dueMs ?? Infinity;
  }

  /** In no order. */
  all(): Iterable<HeldRecord> {
    return this.#heap;
  }

  /** Keeps a copy. */
  add(record: TakenRecord, dueMs: number): HeldRecord {
    const held = this.#shelf.put(record, dueMs);
    this.put(held);
    return held;
  }

  put(held: HeldRecord): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(held);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || parent.dueMs <= held.dueMs) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = held;
  }

  removeFirst(): HeldRecord {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) throw new RangeError('nothing waits');
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  /** Removes those that are asked for. */
  removeWhere(isWanted: (held: HeldRecord) => boolean): HeldRecord[] {
    const [wanted, others]: [HeldRecord[], HeldRecord[]] = [[], []];
    for (const held of this.#heap) (isWanted(held) ? wanted : others).push(held);
    // In the order of a heap a part of it is none.
    this.#heap = others.sort((one, other) => one.dueMs - other.dueMs);
    return wanted;
  }

  release(): void {
    for (const { owner, slot } of this.#heap) owner.release(slot);
  }

  /** Puts the entry in the place of the top and lets it sink to where it belongs. */
  #sink(entry: HeldRecord): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const useRight = right !== undefined && left !== undefined && right.dueMs < left.dueMs;
      const below = useRight ? right : left;
      if (below === undefined || below.dueMs >= entry.dueMs) break;
      heap[index] = below;
      index = 2 * index + (useRight ? 2 : 1);
    }
    heap[index] = entry;
  }
}

const chunkBytes = 16 * 1024;
const nothing = Buffer.alloc(0);

/**
 * The records of one partition that wait. As objects, they would be a dozen each and would keep the fetch
 * response that they came with. Reading a packed record a second time costs less than keeping it as objects
 * for minutes.
 */
class RecordShelf {
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
