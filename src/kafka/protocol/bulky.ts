/** A slice of a larger batch that somebody holds would hold all of it, which may be 64 MB. */
const bulkyBytes = 8 * 1024 * 1024;

export function isBulky(unpacked: Buffer): boolean {
  return unpacked.length > bulkyBytes;
}

/** A slice; a copy where that would hold too much. */
export function partOf(unpacked: Buffer, from: number, to: number): Buffer {
  const slice = unpacked.subarray(from, to);
  return isBulky(unpacked) ? Buffer.from(slice) : slice;
}
