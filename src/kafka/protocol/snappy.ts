import snappy from 'snappyjs';

/**
 * Java producers wrap snappy blocks in the framing of the library xerial/snappy-java: a header of 16
 * bytes, then blocks, each behind its length. Others (librdkafka) write one bare block.
 */

const magic = Buffer.from([0x82, ...Buffer.from('SNAPPY'), 0]);
/** The magic, the version, and the oldest version that can read it, both 1. */
const header = Buffer.from([...magic, 0, 0, 0, 1, 0, 0, 0, 1]);
/** The size that snappy-java uses. Readers may have a buffer of just this size. */
const blockBytes = 32_768;

export function compressSnappy(bytes: Buffer): Buffer {
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
export function decompressSnappy(bytes: Buffer, maxBytes: number): Buffer {
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

/**
 * Unpacks one snappy block. The library that compresses has a reader too, which never ends for a literal
 * whose length has its highest bit set, and returns zeros for what a block leaves out. @see
 * https://github.com/google/snappy/blob/main/format_description.txt
 * @throws RangeError when the bytes are not a whole block, or become more than `maxBytes`
 */
function unpackSnappyBlock(block: Buffer, maxBytes: number): Buffer {
  const { length, at: start } = unpackedLength(block);
  if (length > maxBytes)
    throw new RangeError(`it may become ${length} bytes, allowed: ${maxBytes}`);
  const unpacked = Buffer.allocUnsafe(length);
  let at = start;
  let written = 0;
  while (at < block.length) {
    const tag = block[at++] ?? 0;
    const kind = tag & 3;
    if (kind === 0) {
      let count = (tag >>> 2) + 1;
      if (count > shortLiteral) {
        const lengthBytes = count - shortLiteral;
        count = littleEndian(block, at, lengthBytes) + 1;
        at += lengthBytes;
      }
      if (at + count > block.length || written + count > length) throw damaged();
      block.copy(unpacked, written, at, at + count);
      at += count;
      written += count;
    } else {
      const offsetBytes = kind === 3 ? 4 : kind;
      let offset = littleEndian(block, at, offsetBytes);
      at += offsetBytes;
      if (kind === 1) offset += (tag >>> 5) * 256;
      const count = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
      if (offset === 0 || offset > written || written + count > length) throw damaged();
      // Byte by byte: a copy may read what it has just written.
      for (const end = written + count; written < end; written += 1)
        unpacked[written] = unpacked[written - offset] ?? 0;
    }
  }
  if (written !== length) throw damaged();
  return unpacked;
}

/** A longer literal has its length behind the tag, in one to four bytes. */
const shortLiteral = 60;

function unpackedLength(block: Buffer): { readonly length: number; readonly at: number } {
  let length = 0;
  let at = 0;
  for (let factor = 1; factor <= 2 ** 28; factor *= 0x80) {
    const byte = block[at++];
    if (byte === undefined) break;
    length += (byte & 0x7f) * factor;
    if (byte < 0x80) return { length, at };
  }
  throw damaged();
}

function littleEndian(block: Buffer, at: number, bytes: number): number {
  if (at + bytes > block.length) throw damaged();
  let value = block[at] ?? 0;
  for (let i = 1, factor = 0x100; i < bytes; i += 1, factor *= 0x100)
    value += (block[at + i] ?? 0) * factor;
  return value;
}

function damaged(): RangeError {
  return new RangeError('it is not a whole snappy block');
}
