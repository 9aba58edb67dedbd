const blockChecksums = 0x10;
const contentSize = 0x08;
const dictionaryId = 0x01;
/** The magic, two bytes of flags, and the header's checksum. */
const shortestHeaderBytes = 7;
const storedAsIs = 0x8000_0000;

/**
 * The most bytes that an LZ4 frame can unpack to, from its number of blocks of 64 KB to 4 MB. Zero if the
 * bytes are not a frame. @see https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
 */
export function unpackedLz4BytesAtMost(frame: Buffer): number {
  if (frame.length < shortestHeaderBytes) return 0;
  const flags = frame.readUInt8(4);
  const blockBytes = 2 ** (8 + 2 * ((frame.readUInt8(5) >> 4) & 7));
  const optionalBytes =
    ((flags & contentSize) === 0 ? 0 : 8) + ((flags & dictionaryId) === 0 ? 0 : 4);
  let sum = 0;
  for (let at = shortestHeaderBytes + optionalBytes; at + 4 <= frame.length;) {
    const size = frame.readUInt32LE(at);
    if (size === 0) break;
    const storedBytes = size % storedAsIs;
    sum += size >= storedAsIs ? storedBytes : blockBytes;
    at += 4 + storedBytes + ((flags & blockChecksums) === 0 ? 0 : 4);
  }
  return sum;
}
