import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import lz4 from 'lz4-napi';
import { asError } from '../../errors.ts';
import { codecId, type Compressor } from './compressor.ts';
import { unpackedLz4BytesAtMost } from './lz4-frame.ts';
import { compressXerial, decompressXerial } from './xerial.ts';
import { decompressZstd } from './zstd.ts';

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
const snappyCodec = codec('snappy', compressXerial, (bytes) =>
  decompressXerial(bytes, maxUnpackedBytes),
);
/** Kafka uses the frame format, not the bare blocks. */
const lz4Codec = codec('LZ4', (bytes) => lz4.compressFrameSync(bytes), decompressLz4);
const zstdCodec = codec('zstd', zstdCompressSync, (bytes) =>
  decompressZstd(bytes, maxUnpackedBytes),
);

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
