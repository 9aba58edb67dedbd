/** A slice keeps the whole batch in memory, which may be 64 MB. */
const bulkyBytes = 8 * 1024 * 1024;

export function isBulky(unpacked: Buffer): boolean {
  return unpacked.length > bulkyBytes;
}

/** A slice, or a copy if a slice would keep too much. */
export function partOf(unpacked: Buffer, from: number, to: number): Buffer {
  const slice = unpacked.subarray(from, to);
  return isBulky(unpacked) ? Buffer.from(slice) : slice;
}
