import { codecOf } from '../protocol/codecs.ts';

/** Makes all codecs known to a kafkajs, which brings gzip only: its numbers are the ones in a batch's attributes. */
export function registerCodecs({
  CompressionCodecs: codecs,
  CompressionTypes: types,
}: Pick<typeof import('kafkajs'), 'CompressionCodecs' | 'CompressionTypes'>): void {
  const of = (attributes: number) => (): object => {
    const codec = codecOf(attributes);
    return {
      compress: ({ buffer }: { readonly buffer: Buffer }) => codec?.compress(buffer),
      decompress: (bytes: Buffer) => codec?.decompress(bytes),
    };
  };
  codecs[types.GZIP] = of(types.GZIP);
  codecs[types.Snappy] = of(types.Snappy);
  codecs[types.LZ4] = of(types.LZ4);
  codecs[types.ZSTD] = of(types.ZSTD);
}
