import snappy from 'snappyjs';
import { unpackSnappyBlock } from './snappy-block.ts';

/**
 * Java producers wrap snappy blocks in the framing of the library xerial/snappy-java: a header of 16
 * bytes, then blocks, each behind its length. Others (librdkafka) write one bare block.
 */

const magic = Buffer.from([0x82, ...Buffer.from('SNAPPY'), 0]);
/** The magic, the version, and the oldest version that can read it, both 1. */
const header = Buffer.from([...magic, 0, 0, 0, 1, 0, 0, 0, 1]);
/** The size that snappy-java uses. Readers may have a buffer of just this size. */
const blockBytes = 32_768;

export function compressXerial(bytes: Buffer): Buffer {
  const parts: Buffer[] = [header];
  for (let start = 0; start < bytes.length; start += blockBytes) {
    const block = snappy.compress(bytes.subarray(start, start + blockBytes));
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

/**
 * Reads as snappy-java does: a header may come again, and an end that is too short for a length is ignored.
 * @throws Error when the bytes are neither framed nor a bare block, or become more than `maxBytes`
 */
export function decompressXerial(bytes: Buffer, maxBytes: number): Buffer {
  if (!startsFrame(bytes, 0)) return unpackSnappyBlock(bytes, maxBytes);
  const parts: Buffer[] = [];
  let left = maxBytes;
  for (let at = 0; at + 4 <= bytes.length;) {
    if (startsFrame(bytes, at)) {
      at += header.length;
      continue;
    }
    const end = at + 4 + bytes.readInt32BE(at);
    if (end > bytes.length || end < at)
      throw new Error('snappy data ends in the middle of a block');
    const part = unpackSnappyBlock(bytes.subarray(at + 4, end), left);
    left -= part.length;
    parts.push(part);
    at = end;
  }
  return Buffer.concat(parts);
}

function startsFrame(bytes: Buffer, at: number): boolean {
  return bytes.subarray(at, at + magic.length).equals(magic);
}
