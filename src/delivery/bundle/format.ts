import lz4 from 'lz4-napi';
import { parseHeader } from '../../event/envelope.ts';
import { GrowingBuffer } from '../../kafka/growing-buffer.ts';

/** What the header of a bundle says, in the place where a single event has its envelope. */
export interface BundleHeader {
  readonly destinationId: string;
  /** How many it carries. */
  readonly events: number;
  /** Of all of them, like the other times epoch milliseconds. */
  readonly dueMs: number;
  /**
   * End of the retry window that ends first; undefined as long as the retry clock of none runs.
   */
  readonly deadlineMs?: number | undefined;
  /** End of the window of each whose envelope names none; `deadlineMs` where this is absent, too. */
  readonly impliedDeadlineMs?: number | undefined;
  /** From when the age of the oldest one runs. */
  readonly oldestMs: number;
}

/**
 * An event among others. `envelope` is what it would have in its header if it were alone, but for what the
 * bundle's header says of all of them.
 */
export interface BundledEvent {
  readonly key: Buffer | null;
  readonly envelope: Buffer;
  readonly body: Buffer;
}

/** An envelope has version 1: none is ever taken for the other. */
const version = 2;

export function encodeBundleHeader(header: BundleHeader): string {
  const { destinationId, events, dueMs, deadlineMs, impliedDeadlineMs, oldestMs } = header;
  return JSON.stringify({
    ...{ v: version, d: destinationId, e: events, u: dueMs },
    ...{ x: deadlineMs, i: impliedDeadlineMs, o: oldestMs },
  });
}

/** Undefined for bytes that are no header of a bundle. Keys it does not know are ignored. */
export function decodeBundleHeader(bytes: Buffer): BundleHeader | undefined {
  const json = parseHeader(bytes);
  if (json?.['v'] !== version) return undefined;
  const { d, e, u, x, i, o } = json;
  const valid =
    typeof d === 'string' &&
    isCount(e) &&
    isCount(u) &&
    (x === undefined || isCount(x)) &&
    (i === undefined || isCount(i)) &&
    isCount(o);
  if (!valid) return undefined;
  const deadlines = { deadlineMs: x, impliedDeadlineMs: i };
  return { destinationId: d, events: e, dueMs: u, ...deadlines, oldestMs: o };
}

const lengthBytes = 4;
const noKey = -1;
const initialBytes = 2_048;

/**
 * Writes events one behind the other: for each the length of its key (-1: none), its key, and likewise
 * its envelope and its body. They are copied at once, so that nothing of what they came from is held.
 */
export class EventPacker {
  readonly #packed = new GrowingBuffer(initialBytes);

  /** So far. */
  get bytes(): number {
    return this.#packed.bytes;
  }

  /** For further events: what `packed` has given is overwritten. */
  reset(): void {
    this.#packed.bytes = 0;
  }

  add(key: Buffer | null, envelope: Buffer | string, body: Buffer): void {
    const isText = typeof envelope === 'string';
    const envelopeBytes = isText ? Buffer.byteLength(envelope) : envelope.length;
    this.#packed.makeRoom(3 * lengthBytes + (key?.length ?? 0) + envelopeBytes + body.length);
    this.#addLength(key?.length ?? noKey);
    if (key !== null) this.#addBytes(key);
    this.#addLength(envelopeBytes);
    if (isText) this.#packed.bytes += this.#packed.buffer.write(envelope, this.bytes);
    else this.#addBytes(envelope);
    this.#addLength(body.length);
    this.#addBytes(body);
  }

  get packed(): Buffer {
    return this.#packed.written;
  }

  #addLength(length: number): void {
    this.#packed.bytes = this.#packed.buffer.writeInt32BE(length, this.bytes);
  }

  #addBytes(bytes: Buffer): void {
    this.#packed.bytes += bytes.copy(this.#packed.buffer, this.bytes);
  }
}

/**
 * A bundle's value. Compressed here and not with other records, because it is read and written several
 * times before somebody wants to know what is in it.
 */
export function compressEvents(packed: Buffer): Buffer {
  return lz4.compressSync(packed);
}

/** What the compressed value says of its size comes first, and that much memory would be taken. */
const mostPackedBytes = 4 * 1024 * 1024;

/** Undefined if it is a value of something else. */
export function decompressEvents(value: Buffer): BundledEvent[] | undefined {
  try {
    if (value.readUInt32LE() > mostPackedBytes) return undefined;
    return unpackEvents(lz4.uncompressSync(value));
  } catch {
    return undefined;
  }
}

/** Slices of `packed`; undefined if it does not end where an event does. */
export function unpackEvents(packed: Buffer): BundledEvent[] | undefined {
  const events: BundledEvent[] = [];
  let at = 0;
  const read = (): Buffer | null | undefined => {
    if (at + lengthBytes > packed.length) return undefined;
    const length = packed.readInt32BE(at);
    at += lengthBytes;
    if (length === noKey) return null;
    if (length < 0 || at + length > packed.length) return undefined;
    at += length;
    return packed.subarray(at - length, at);
  };
  while (at < packed.length) {
    const key = read();
    const envelope = read();
    const body = read();
    if (key === undefined || !envelope || !body) return undefined;
    events.push({ key, envelope, body });
  }
  return events;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
