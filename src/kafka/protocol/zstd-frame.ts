const magic = 0xfd2f_b528;
const isSingleSegment = 0x20;
const dictionaryIdBytes = [0, 1, 2, 4];
/** Behind the magic and the byte of flags. */
const optionalAt = 5;

/**
 * The bytes that a zstd frame unpacks to, if its header states them: most writers know them, those that
 * compress a stream do not. @see https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1
 */
export function statedZstdBytes(frame: Buffer): number | undefined {
  if (frame.length < optionalAt || frame.readUInt32LE(0) !== magic) return undefined;
  const flags = frame.readUInt8(4);
  const isSingle = (flags & isSingleSegment) !== 0;
  const at = optionalAt + (isSingle ? 0 : 1) + (dictionaryIdBytes[flags & 3] ?? 0);
  const sizeFlag = flags >> 6;
  const bytes = sizeFlag === 0 ? (isSingle ? 1 : 0) : 2 ** sizeFlag;
  if (bytes === 0 || frame.length < at + bytes) return undefined;
  if (bytes === 8) return Number(frame.readBigUInt64LE(at));
  return frame.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}
