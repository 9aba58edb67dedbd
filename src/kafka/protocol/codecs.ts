import {
  constants as zlib,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import lz4 from 'lz4-napi';
import { asError } from '../../errors.ts';
import { codecId, type Compressor } from './compressor.ts';
import { compressSnappy, decompressSnappy } from './snappy.ts';

/** Works on the calling thread: for many small batches, a thread pool costs more than it saves. */
export interface Codec {
  compress(bytes: Buffer): Buffer;
  /**
   * @throws Error with the codec's name: the bytes are not of this codec, or become more than
   * `maxUnpackedBytes`
   */
  decompress(bytes: Buffer): Buffer;
}

/**
 * The most that a batch may unpack to. Kafka bounds only the compressed size, and 13 KB of zstd may be 400
 * MB, more than a role's memory. An ordinary batch of 1 MB is a tenth of this.
 */
export const maxUnpackedBytes: number = 64 * 1024 * 1024;
const atMost = { maxOutputLength: maxUnpackedBytes };

const gzipCodec = codec('gzip', gzipSync, (bytes) => gunzipSync(bytes, atMost));
const snappyCodec = codec('snappy', compressSnappy, (bytes) =>
  decompressSnappy(bytes, maxUnpackedBytes),
);
/** Kafka uses the frame format, not the bare blocks. */
const lz4Codec = codec('LZ4', (bytes) => lz4.compressFrameSync(bytes), decompressLz4);
const zstdCodec = codec('zstd', zstdCompressSync, decompressZstd);

const codecs: readonly (Codec | undefined)[] = [
  undefined,
  gzipCodec,
  snappyCodec,
  lz4Codec,
  zstdCodec,
];

/**
 * The codec of a batch, or of an old message, from its attributes; undefined: not compressed.
 * @throws RangeError for an unknown codec
 */
export function codecOf(attributes: number): Codec | undefined {
  const id = attributes & 0x7;
  if (id >= codecs.length)
    throw new RangeError(`codec ${id} is not known; known: 1 gzip, 2 snappy, 3 LZ4, 4 zstd`);
  return codecs[id];
}

/**
 * For smaller batches, zstd allocates and releases memory that costs more than the compression itself. For
 * larger ones, zstd makes half as many bytes as LZ4 in less time.
 */
const zstdFromBytes = 16 * 1024;

export const lz4OrZstd: Compressor = {
  pack: (records) =>
    records.length < zstdFromBytes
      ? { codecId: codecId.lz4, bytes: lz4Codec.compress(records) }
      : { codecId: codecId.zstd, bytes: zstdCodec.compress(records) },
};

function codec(
  name: string,
  compress: (bytes: Buffer) => Buffer,
  decompress: (bytes: Buffer) => Buffer,
): Codec {
  return {
    compress: (bytes) => compress(bytes),
    decompress: (bytes) => {
      try {
        return decompress(bytes);
      } catch (error) {
        const why = asError(error).message;
        throw new Error(`its ${name} data cannot be decompressed: ${why}`, { cause: error });
      }
    },
  };
}

function decompressLz4(bytes: Buffer): Buffer {
  const bytesAtMost = unpackedLz4BytesAtMost(bytes);
  if (bytesAtMost > maxUnpackedBytes)
    throw new RangeError(`it may become ${bytesAtMost} bytes, allowed: ${maxUnpackedBytes}`);
  return lz4.decompressFrameSync(bytes);
}

// The flags of an LZ4 frame.
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
function unpackedLz4BytesAtMost(frame: Buffer): number {
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

// The header of a zstd frame.
const zstdMagic = 0xfd2f_b528;
const isSingleSegment = 0x20;
const dictionaryIdBytes = [0, 1, 2, 4];
/** Behind the magic and the byte of flags. */
const optionalAt = 5;
/** An ordinary batch is unpacked in one piece. */
const mostChunkBytes = 1024 * 1024;

/** The data may be several frames, of which zlib reads only the first. */
function decompressZstd(bytes: Buffer): Buffer {
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
  if (frame.length < optionalAt || frame.readUInt32LE(0) !== zstdMagic) return undefined;
  const flags = frame.readUInt8(4);
  const isSingle = (flags & isSingleSegment) !== 0;
  const at = optionalAt + (isSingle ? 0 : 1) + (dictionaryIdBytes[flags & 3] ?? 0);
  const sizeFlag = flags >> 6;
  const bytes = sizeFlag === 0 ? (isSingle ? 1 : 0) : 2 ** sizeFlag;
  if (bytes === 0 || frame.length < at + bytes) return undefined;
  if (bytes === 8) return Number(frame.readBigUInt64LE(at));
  return frame.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}
