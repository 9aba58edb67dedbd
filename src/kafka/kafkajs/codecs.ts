import { codecOf } from '../protocol/codecs.ts';

/**
 * Registers all codecs with a kafkajs, which brings only gzip. Its numbers are those in a batch's attributes.
 */
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
