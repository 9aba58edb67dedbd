import { constants as zlib, zstdDecompressSync } from 'node:zlib';

const magic = 0xfd2f_b528;
const isSingleSegment = 0x20;
const dictionaryIdBytes = [0, 1, 2, 4];
/** Behind the magic and the byte of flags. */
const optionalAt = 5;
/** An ordinary batch is unpacked in one piece. */
const mostChunkBytes = 1024 * 1024;

/** The data may be several frames, of which zlib reads only the first. */
export function decompressZstd(bytes: Buffer, maxUnpackedBytes: number): Buffer {
  const parts: Buffer[] = [];
  let unpackedBytes = 0;
  for (let at = 0; at < bytes.length;) {
    const frame = bytes.subarray(at);
    // Missing in Node's types: with `info`, it also returns the engine, which counts the bytes that it has
    // read.
    const options = {
      info: true,
      maxOutputLength: maxUnpackedBytes - unpackedBytes,
      chunkSize: chunkBytes(frame),
    };
    const { buffer, engine } = zstdDecompressSync(frame, options) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    if (engine.bytesWritten === 0) throw new RangeError('it ends in the middle of a frame');
    at += engine.bytesWritten;
    unpackedBytes += buffer.length;
    parts.push(buffer);
  }
  const [only = Buffer.alloc(0), ...others] = parts;
  return others.length === 0 ? only : Buffer.concat(parts);
}

/** zlib allocates so much at a time, and copies all of it together if it was not enough. */
function chunkBytes(frame: Buffer): number {
  const statedBytes = statedZstdBytes(frame);
  if (statedBytes === undefined) return zlib.Z_DEFAULT_CHUNK;
  // One more than there is, for a full piece makes it ask for another.
  return Math.max(zlib.Z_MIN_CHUNK, Math.min(statedBytes + 1, mostChunkBytes));
}

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
