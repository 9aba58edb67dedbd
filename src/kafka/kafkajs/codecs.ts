import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import lz4 from 'lz4-napi';
import { unpackedLz4BytesAtMost } from './lz4-frame.ts';
import { compressXerial, decompressXerial } from './xerial.ts';

interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Buffer;
  decompress(bytes: Buffer): Buffer;
}

/**
 * The most that a batch may become. Kafka bounds what it is compressed to; 13 KB of zstd may be 400 MB, more
 * than a role's memory. An honest batch of 1 MB is a tenth of this.
 */
export const maxUnpackedBytes: number = 64 * 1024 * 1024;
const atMost = { maxOutputLength: maxUnpackedBytes };

/**
 * What producers may have compressed with. kafkajs brings gzip only, without a bound, and a batch in any
 * other codec ends a consumer for good. All work on the calling thread: a batch is at most 1 MB, and for the
 * many small ones a thread pool costs more than it saves.
 */
export const gzipCodec: Codec = {
  compress: ({ buffer }) => gzipSync(buffer),
  decompress: (bytes) => gunzipSync(bytes, atMost),
};

export const snappyCodec: Codec = {
  compress: ({ buffer }) => compressXerial(buffer),
  decompress: (bytes) => decompressXerial(bytes, maxUnpackedBytes),
};

/** Kafka uses the frame format, not the bare blocks. */
export const lz4Codec: Codec = {
  compress: ({ buffer }) => lz4.compressFrameSync(buffer),
  decompress: (bytes) => {
    const bytesAtMost = unpackedLz4BytesAtMost(bytes);
    if (bytesAtMost > maxUnpackedBytes)
      throw new RangeError(
        `LZ4 data may become ${bytesAtMost} bytes, allowed: ${maxUnpackedBytes}`,
      );
    return lz4.decompressFrameSync(bytes);
  },
};

export const zstdCodec: Codec = {
  compress: ({ buffer }) => zstdCompressSync(buffer),
  decompress: decompressZstd,
};

/** It may be several frames, of which zlib reads the first only. */
function decompressZstd(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let unpackedBytes = 0;
  for (let at = 0; at < bytes.length;) {
    const maxOutputLength = maxUnpackedBytes - unpackedBytes;
    // Not in Node's types: with `info`, it also returns the engine, which counts what it has taken.
    const { buffer, engine } = zstdDecompressSync(bytes.subarray(at), {
      ...{ info: true, maxOutputLength },
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    if (engine.bytesWritten === 0) throw new RangeError('zstd data ends in the middle of a frame');
    at += engine.bytesWritten;
    unpackedBytes += buffer.length;
    parts.push(buffer);
  }
  const [only = Buffer.alloc(0), ...others] = parts;
  return others.length === 0 ? only : Buffer.concat(parts);
}

/** Makes them known to every consumer and producer of this kafkajs. */
export function registerCodecs({
  CompressionCodecs: codecs,
  CompressionTypes: types,
}: Pick<typeof import('kafkajs'), 'CompressionCodecs' | 'CompressionTypes'>): void {
  codecs[types.GZIP] = () => gzipCodec;
  codecs[types.Snappy] = () => snappyCodec;
  codecs[types.LZ4] = () => lz4Codec;
  codecs[types.ZSTD] = () => zstdCodec;
}
