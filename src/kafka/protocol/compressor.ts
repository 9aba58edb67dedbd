import { gzipSync } from 'node:zlib';

/** The lowest three bits of a batch's attributes, for each codec. */
export const codecId = {
  none: 0,
  gzip: 1,
  snappy: 2,
  lz4: 3,
  zstd: 4,
} as const;

export interface Packed {
  /** Goes into the batch's attributes. */
  readonly codecId: number;
  readonly bytes: Buffer;
}

/** Compresses what a producer writes. */
export interface Compressor {
  /** @param records the records of one batch, one behind the other */
  pack(records: Buffer): Packed;
}

/** gzip needs no package and no recent Node, so the client library writes with it. */
export const gzip: Compressor = {
  pack: (records) => ({ codecId: codecId.gzip, bytes: gzipSync(records) }),
};
