import snappy from 'snappyjs';

/**
 * Java producers wrap snappy blocks in the framing of the library xerial/snappy-java: a header of 16
 * bytes, then blocks, each behind its length. Others (librdkafka) write one bare block.
 */

const magic = Buffer.from([0x82, ...Buffer.from('SNAPPY'), 0]);
/** The magic, the version and the oldest version that can read it, both 1. */
const header = Buffer.from([...magic, 0, 0, 0, 1, 0, 0, 0, 1]);
/** What snappy-java itself uses; readers may hold a buffer of just this size. */
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

/** @throws Error when the bytes are neither framed nor a bare block. */
export function decompressXerial(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, magic.length).equals(magic)) return snappy.uncompress(bytes);
  const parts: Buffer[] = [];
  for (let at = header.length; at < bytes.length;) {
    const end = at + 4 + bytes.readInt32BE(at);
    if (end > bytes.length) throw new Error('snappy data ends in the middle of a block');
    parts.push(snappy.uncompress(bytes.subarray(at + 4, end)));
    at = end;
  }
  return Buffer.concat(parts);
}
