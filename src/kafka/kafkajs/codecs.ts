import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import lz4 from 'lz4-napi';
import { compressXerial, decompressXerial } from './xerial.ts';

interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Buffer;
  decompress(bytes: Buffer): Buffer;
}

/**
 * What producers may have compressed with. kafkajs brings gzip only, and a batch in any other codec
 * ends a consumer for good. All work on the calling thread: a batch is at most 1 MB, and for the many
 * small ones a thread pool costs more than it saves.
 */
export const snappyCodec: Codec = {
  compress: ({ buffer }) => compressXerial(buffer),
  decompress: decompressXerial,
};

/** Kafka uses the frame format, not the bare blocks. */
export const lz4Codec: Codec = {
  compress: ({ buffer }) => lz4.compressFrameSync(buffer),
  decompress: (bytes) => lz4.decompressFrameSync(bytes),
};

export const zstdCodec: Codec = {
  compress: ({ buffer }) => zstdCompressSync(buffer),
  decompress: (bytes) => zstdDecompressSync(bytes),
};

/** Makes them known to every consumer and producer of this kafkajs. */
export function registerCodecs({
  CompressionCodecs: codecs,
  CompressionTypes: types,
}: Pick<typeof import('kafkajs'), 'CompressionCodecs' | 'CompressionTypes'>): void {
  codecs[types.Snappy] = () => snappyCodec;
  codecs[types.LZ4] = () => lz4Codec;
  codecs[types.ZSTD] = () => zstdCodec;
}
