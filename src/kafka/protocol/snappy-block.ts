/**
 * Unpacks one snappy block. The library that compresses has a reader too, which never ends for a literal
 * whose length has its highest bit set, and returns zeros for what a block leaves out. @see
 * https://github.com/google/snappy/blob/main/format_description.txt
 * @throws RangeError when the bytes are not a whole block, or become more than `maxBytes`
 */
export function unpackSnappyBlock(block: Buffer, maxBytes: number): Buffer {
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
