declare module 'snappyjs' {
  const snappy: {
    compress(bytes: Buffer): Buffer;
    /** @throws Error when the bytes are no snappy block, or become more than `maxBytes`. */
    uncompress(bytes: Buffer, maxBytes?: number): Buffer;
  };
  export default snappy;
}
