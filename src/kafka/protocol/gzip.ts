import { gzipSync } from 'node:zlib';
import { codecId, type Compressor } from './compressor.ts';

/** gzip needs no package and no recent Node, so the client library writes with it. */
export const gzip: Compressor = {
  pack: (records) => ({ codecId: codecId.gzip, bytes: gzipSync(records) }),
};
