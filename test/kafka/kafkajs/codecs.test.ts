import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import kafkajs from 'kafkajs';
import snappy from 'snappyjs';
import {
  gzipCodec,
  lz4Codec,
  maxUnpackedBytes,
  registerCodecs,
  snappyCodec,
  zstdCodec,
} from '../../../src/kafka/kafkajs/codecs.ts';

const codecs = { snappy: snappyCodec, lz4: lz4Codec, zstd: zstdCodec };

for (const [name, codec] of Object.entries(codecs)) {
  test(`${name} gives back what it was given`, () => {
    const bytes = fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 2_000 }))
      .map(([piece, times]) => Buffer.concat(Array<Uint8Array>(times).fill(piece)));
    fc.assert(
      fc.property(bytes, (buffer) => {
        assert.ok(codec.decompress(codec.compress({ buffer })).equals(buffer));
      }),
      { numRuns: 50 },
    );
  });
}

test('zstd in several frames is read to its end, with what may be skipped between them', () => {
  const skipped = Buffer.alloc(12);
  skipped.writeUInt32LE(0x184d2a50, 0);
  skipped.writeUInt32LE(4, 4);
  const frames = ['one ', 'two'].map((text) => zstdCodec.compress({ buffer: Buffer.from(text) }));
  const bytes = Buffer.concat([skipped, ...frames, skipped]);
  assert.equal(zstdCodec.decompress(bytes).toString(), 'one two');
});

test('framed snappy may be several, with less than a length behind it', () => {
  const frame = snappyCodec.compress({ buffer: Buffer.from('one') });
  assert.equal(snappyCodec.decompress(Buffer.concat([frame, frame])).toString(), 'oneone');
  assert.equal(snappyCodec.decompress(Buffer.concat([frame, Buffer.alloc(3)])).toString(), 'one');
});

for (const [name, codec] of Object.entries({ ...codecs, gzip: gzipCodec })) {
  test(`${name} that would become more than there is memory for is refused`, () => {
    const bomb = codec.compress({ buffer: Buffer.alloc(maxUnpackedBytes + 1) });
    assert.throws(() => codec.decompress(bomb), /allowed|Cannot create|too big/);
    const most = codec.compress({ buffer: Buffer.alloc(maxUnpackedBytes) });
    assert.equal(codec.decompress(most).length, maxUnpackedBytes);
  });
}

test('kafkajs finds every codec after registering', () => {
  registerCodecs(kafkajs);
  const { CompressionCodecs, CompressionTypes: types } = kafkajs;
  assert.equal(CompressionCodecs[types.Snappy](), snappyCodec);
  assert.equal(CompressionCodecs[types.LZ4](), lz4Codec);
  assert.equal(CompressionCodecs[types.ZSTD](), zstdCodec);
});

test('snappy is framed as Java clients frame it', () => {
  const framed = snappyCodec.compress({ buffer: Buffer.from('hello') });
  assert.equal(framed.subarray(0, 16).toString('hex'), '82534e41505059000000000100000001');
  assert.equal(framed.readInt32BE(16), framed.length - 20);
});

test('a bare snappy block, as librdkafka writes it, is read too', () => {
  const bare = snappy.compress(Buffer.from('hello hello hello'));
  assert.equal(snappyCodec.decompress(bare).toString(), 'hello hello hello');
});

test('framed snappy that ends too early is an error, not less data', () => {
  const framed = snappyCodec.compress({ buffer: Buffer.alloc(100_000, 'abc') });
  assert.throws(() => snappyCodec.decompress(framed.subarray(0, -1)), /middle of a block/);
});

test('lz4 is the frame format with independent blocks, the only ones that Java reads', () => {
  const frame = lz4Codec.compress({ buffer: Buffer.alloc(300_000, 'abc') });
  assert.equal(frame.readUInt32LE(0), 0x184d2204);
  assert.notEqual((frame[4] ?? 0) & 0b0010_0000, 0);
});
