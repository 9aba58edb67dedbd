declare module 'snappyjs' {
  const snappy: {
    compress(bytes: Buffer): Buffer;
    /** @throws Error when the bytes are no snappy block. */
    uncompress(bytes: Buffer): Buffer;
  };
  export default snappy;
}
