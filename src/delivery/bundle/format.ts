import lz4 from 'lz4-napi';
import { parseHeader } from '../../event/envelope.ts';
import { isTime } from '../../event/timestamp.ts';
import { unpackRecords } from '../packing.ts';
import type { PackedRecord } from '../packing.ts';

/** A partition's window holds several bundles, and what waits in one is a small part of a window. */
export const mostEvents = 256;

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

/** An envelope has version 1: none is ever taken for the other. */
const version = 2;

export function encodeBundleHeader(header: BundleHeader): string {
  const { destinationId, events, dueMs, deadlineMs, impliedDeadlineMs, oldestMs } = header;
  return JSON.stringify({
    v: version,
    d: destinationId,
    e: events,
    u: dueMs,
    x: deadlineMs,
    i: impliedDeadlineMs,
    o: oldestMs,
  });
}

/**
 * Undefined for bytes that are no header of a bundle, and for one that says what cannot be true. Keys it
 * does not know are ignored.
 */
export function decodeBundleHeader(bytes: Buffer): BundleHeader | undefined {
  const json = parseHeader(bytes);
  if (json?.['v'] !== version) return undefined;
  const { d, e, u, x, i, o } = json;
  const valid =
    typeof d === 'string' &&
    isEventCount(e) &&
    isTime(u) &&
    (x === undefined || isTime(x)) &&
    (i === undefined || isTime(i)) &&
    isTime(o);
  if (!valid) return undefined;
  const deadlines = { deadlineMs: x, impliedDeadlineMs: i };
  return { destinationId: d, events: e, dueMs: u, ...deadlines, oldestMs: o };
}

/**
 * A bundle's value. Compressed here and not with other records, because it is read and written several
 * times before somebody wants to know what is in it.
 */
export function compressEvents(packed: Buffer): Buffer {
  return lz4.compressSync(packed);
}

/**
 * What the compressed value says of its size comes first, and that much memory would be taken. Less than
 * 64 KB and one event are put together: now of 64 KB, formerly with a body and ids of up to 385 KB each,
 * the longest call that a gateway makes of a batch.
 */
const mostPackedBytes = 1024 * 1024;

/** Undefined if it is a value of something else, or holds more than `most` events. */
export function decompressEvents(
  value: Buffer,
  most: number = mostEvents,
): PackedRecord[] | undefined {
  try {
    if (value.readUInt32LE() > mostPackedBytes) return undefined;
    return unpackRecords(lz4.uncompressSync(value), most);
  } catch {
    return undefined;
  }
}

function isEventCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= mostEvents;
}
