import lz4 from 'lz4-napi';
import { bundleVersion, parseHeader } from '../../event/envelope.ts';
import { isTime } from '../../event/timestamp.ts';
import { isUid, type WithUid } from '../../event/uid.ts';
import { unpackRecords } from '../packing.ts';
import type { PackedRecord } from '../packing.ts';

/** A window holds several bundles, so the events that wait in one are a small part of the window. */
export const mostEvents = 256;

/** The header of a bundle, in the place where a single event has its envelope. */
export interface BundleHeader extends WithUid {
  readonly destinationId: string;
  /** Number of events in the bundle. */
  readonly events: number;
  /** The time when the bundle is due. All times are epoch milliseconds. */
  readonly dueMs: number;
  /** The earliest end of a retry window; undefined while no event's retry clock runs. */
  readonly deadlineMs?: number | undefined;
  /**
   * End of the retry window of each event whose envelope has none. Where this is absent too, `deadlineMs`
   * counts.
   */
  readonly impliedDeadlineMs?: number | undefined;
  /** The time from which the age of the oldest event runs. */
  readonly oldestMs: number;
}

export function encodeBundleHeader(header: BundleHeader): string {
  const { destinationId, uid, events, dueMs, deadlineMs, impliedDeadlineMs, oldestMs } = header;
  return JSON.stringify({
    v: bundleVersion,
    d: destinationId,
    w: uid,
    e: events,
    u: dueMs,
    x: deadlineMs,
    i: impliedDeadlineMs,
    o: oldestMs,
  });
}

/**
 * Undefined for bytes that are no header of a bundle of a version that this release knows, and for one that says what cannot be true. Keys it
 * does not know are ignored.
 */
export function decodeBundleHeader(bytes: Buffer): BundleHeader | undefined {
  const json = parseHeader(bytes);
  if (json?.['v'] !== bundleVersion) return undefined;
  const { d, w, e, u, x, i, o } = json;
  const valid =
    typeof d === 'string' &&
    (w === undefined || isUid(w)) &&
    isEventCount(e) &&
    isTime(u) &&
    (x === undefined || isTime(x)) &&
    (i === undefined || isTime(i)) &&
    isTime(o);
  if (!valid) return undefined;
  const deadlines = { deadlineMs: x, impliedDeadlineMs: i };
  return { destinationId: d, uid: w, events: e, dueMs: u, ...deadlines, oldestMs: o };
}

/**
 * Compresses a bundle's value. It is compressed here and not with other records, because a bundle is read and
 * written several times before its events are needed.
 */
export function compressEvents(packed: Buffer): Buffer {
  return lz4.compressSync(packed);
}

/**
 * The compressed value begins with its unpacked size, and that much memory would be allocated. Writers pack
 * less than 64 KB and one more event. Earlier releases allowed events with a body and ids of up to 385 KB
 * each, the longest call that a gateway makes of a batch.
 */
const mostPackedBytes = 1024 * 1024;

/** Undefined if the value is not a bundle's, or holds more than `most` events. */
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
