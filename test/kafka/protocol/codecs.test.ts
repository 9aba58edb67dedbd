import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants as zlib, zstdCompressSync } from 'node:zlib';
import fc from '../../harness/fast-check.ts';
import snappy from 'snappyjs';
import {
  codecOf,
  lz4OrZstd,
  maxUnpackedBytes,
  statedZstdBytes,
  type Codec,
} from '../../../src/kafka/protocol/codecs.ts';
import { codecId, gzip } from '../../../src/kafka/protocol/compressor.ts';

function known(id: number): Codec {
  const codec = codecOf(id);
  assert.ok(codec);
  return codec;
}

const codecs = {
  gzip: known(codecId.gzip),
  snappy: known(codecId.snappy),
  lz4: known(codecId.lz4),
  zstd: known(codecId.zstd),
};

for (const [name, codec] of Object.entries(codecs)) {
  test(`${name} gives back what it was given`, () => {
    const bytes = fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 2_000 }))
      .map(([piece, times]) => Buffer.concat(Array<Uint8Array>(times).fill(piece)));
    fc.assert(
      fc.property(bytes, (buffer) => {
        assert.ok(codec.decompress(codec.compress(buffer)).equals(buffer));
      }),
      { numRuns: 50 },
    );
  });

  test(`${name} that would become more than there is memory for is refused`, () => {
    const bomb = codec.compress(Buffer.alloc(maxUnpackedBytes + 1));
    assert.throws(() => codec.decompress(bomb), /allowed|Cannot create|too big/);
    const most = codec.compress(Buffer.alloc(maxUnpackedBytes));
    assert.equal(codec.decompress(most).length, maxUnpackedBytes);
  });

  test(`what is no ${name} is an error that says so`, () => {
    const noise = Buffer.from('neither compressed nor long');
    assert.throws(() => codec.decompress(noise), new RegExp(`its ${name} data cannot`, 'i'));
  });
}

test('a codec is told by the lowest three bits of the attributes', () => {
  const others = 0b111_1000;
  assert.equal(codecOf(others), undefined);
  assert.equal(codecOf(others | 3), codecs.lz4);
  for (const id of [5, 6, 7]) assert.throws(() => codecOf(others | id), new RegExp(`codec ${id} `));
});

test('few records are compressed with LZ4, many with zstd, and read by the codec that is named', () => {
  for (const [bytes, expected] of [
    [0, codecId.lz4],
    [16 * 1024 - 1, codecId.lz4],
    [16 * 1024, codecId.zstd],
  ] as const) {
    const records = Buffer.alloc(bytes, 'records ');
    const packed = lz4OrZstd.pack(records);
    assert.equal(packed.codecId, expected);
    assert.ok(known(packed.codecId).decompress(packed.bytes).equals(records));
  }
});

test('what is compressed with gzip alone is read by the codec that is named', () => {
  const records = Buffer.alloc(1_000, 'records ');
  const packed = gzip.pack(records);
  assert.equal(packed.codecId, codecId.gzip);
  assert.ok(codecs.gzip.decompress(packed.bytes).equals(records));
});

test('zstd in several frames is read to its end, with what may be skipped between them', () => {
  const skipped = Buffer.alloc(12);
  skipped.writeUInt32LE(0x184d2a50, 0);
  skipped.writeUInt32LE(4, 4);
  const frames = ['one ', 'two'].map((text) => codecs.zstd.compress(Buffer.from(text)));
  const bytes = Buffer.concat([skipped, ...frames, skipped]);
  assert.equal(codecs.zstd.decompress(bytes).toString(), 'one two');
});

test('zstd is read in one piece if it states its size, whatever else its header has', () => {
  const sizes = [0, 1, 255, 256, 257, 65_791, 65_792, 3_000_000];
  for (const bytes of sizes) {
    const data = Buffer.alloc(bytes, 'abc');
    const others = { [zlib.ZSTD_c_checksumFlag]: 1, [zlib.ZSTD_c_windowLog]: 10 };
    for (const params of [{}, others]) {
      const frame = zstdCompressSync(data, { params });
      assert.equal(statedZstdBytes(frame), bytes);
      assert.ok(codecs.zstd.decompress(frame).equals(data));
    }
    const unstated = zstdCompressSync(data, { params: { [zlib.ZSTD_c_contentSizeFlag]: 0 } });
    assert.equal(statedZstdBytes(unstated), undefined);
    assert.ok(codecs.zstd.decompress(unstated).equals(data));
  }
});

test('zstd that states another size than it has is an error', () => {
  const frame = zstdCompressSync(Buffer.alloc(1_000, 'abc'));
  for (const stated of [0, 999, 1_001, 65_000]) {
    const wrong = Buffer.from(frame);
    wrong.writeUInt16LE(stated, 5);
    assert.throws(() => codecs.zstd.decompress(wrong), /its zstd data cannot/);
  }
});

test('zstd that ends in the middle of a frame is an error, not less data', () => {
  const frame = codecs.zstd.compress(Buffer.alloc(100_000, 'abc'));
  assert.throws(() => codecs.zstd.decompress(frame.subarray(0, -1)), /unexpected end/);
});

test('framed snappy may be several, with less than a length behind it', () => {
  const frame = codecs.snappy.compress(Buffer.from('one'));
  const read = (...parts: Buffer[]): string =>
    codecs.snappy.decompress(Buffer.concat(parts)).toString();
  assert.equal(read(frame, frame), 'oneone');
  assert.equal(read(frame, Buffer.alloc(3)), 'one');
});

test('snappy is framed as Java clients frame it', () => {
  const framed = codecs.snappy.compress(Buffer.from('hello'));
  assert.equal(framed.subarray(0, 16).toString('hex'), '82534e41505059000000000100000001');
  assert.equal(framed.readInt32BE(16), framed.length - 20);
});

test('a bare snappy block, as librdkafka writes it, is read too', () => {
  const bare = snappy.compress(Buffer.from('hello hello hello'));
  assert.equal(codecs.snappy.decompress(bare).toString(), 'hello hello hello');
});

test('framed snappy that ends too early is an error, not less data', () => {
  const framed = codecs.snappy.compress(Buffer.alloc(100_000, 'abc'));
  assert.throws(() => codecs.snappy.decompress(framed.subarray(0, -1)), /middle of a block/);
});

test('LZ4 is the frame format with independent blocks, the only ones that Java reads', () => {
  const frame = codecs.lz4.compress(Buffer.alloc(300_000, 'abc'));
  assert.equal(frame.readUInt32LE(0), 0x184d2204);
  assert.notEqual((frame[4] ?? 0) & 0b0010_0000, 0);
});

test('a snappy block is read as its format says, and ends for any bytes', () => {
  const bare = (...bytes: number[]): Buffer => codecs.snappy.decompress(Buffer.from(bytes));
  const long = 'x'.repeat(70);
  assert.equal(bare(70, 0xf0, 69, ...Buffer.from(long)).toString(), long, 'one byte of length');
  assert.equal(bare(70, 0xfc, 69, 0, 0, 0, ...Buffer.from(long)).toString(), long, 'four bytes');
  assert.equal(bare(7, 4, 97, 98, 0x0a, 2, 0, 0x06, 2, 0).toString(), 'abababa', 'copies');
  const wrong = [
    // A literal of almost 4 GB, which a signed number takes for one of less than nothing.
    [5, 0xfc, 0xf0, 0xff, 0xff, 0xff, 1, 2, 3],
    [5, 0, 97],
    [1, 4, 97, 98],
    [4, 0, 97, 0x01, 0],
    [4, 0, 97, 0x01, 2],
    [5, 0, 97, 0x02, 1],
    [0x80],
    [0x80, 0x80, 0x80, 0x80, 0x80, 1],
    [],
  ];
  for (const bytes of wrong) assert.throws(() => bare(...bytes), /not a whole snappy block/);
  assert.throws(() => bare(0xff, 0xff, 0xff, 0xff, 0x0f), /4294967295 bytes, allowed: 67108864/);
});
