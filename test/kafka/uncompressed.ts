import type { Compressor } from '../../src/kafka/protocol/compressor.ts';

/** Compression takes time, and nothing depends on it here. */
export const uncompressed: Compressor = {
  pack: (records) => ({ codecId: 0, bytes: Buffer.from(records) }),
};
