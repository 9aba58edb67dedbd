import assert from 'node:assert/strict';
import { codecOf, maxUnpackedBytes } from '../../../../src/kafka/protocol/codecs.ts';
import type { Target } from '../engine/target.ts';

const text = Buffer.from('{"type":"track","event":"Order Completed"}'.repeat(40));
const zeros = Buffer.alloc(200_000);

/** The first byte names the codec. The rest is compressed data, and plain data for the round trip. */
export const target: Target = {
  about:
    'compressed data of every codec: an error with the name of the codec, or at most 64 MB; what a codec compresses, it gives back',
  seeds: [1, 2, 3, 4].flatMap((id) => {
    const codec = codecOf(id);
    if (codec === undefined) throw new Error(`codec ${id}`);
    return [text, zeros, Buffer.alloc(0)].flatMap((bytes) => {
      const packed = codec.compress(bytes);
      return [
        Buffer.concat([Buffer.from([id]), packed]),
        Buffer.concat([Buffer.from([id]), packed, packed]),
      ];
    });
  }),
  words: [
    '\x1f\x8b\x08',
    '\x82SNAPPY\0',
    '\x04\x22\x4d\x18',
    '\x28\xb5\x2f\xfd',
    '\x50\x2a\x4d\x18',
  ],
  covers: ['/snappyjs/'],
  mostBytes: 16_384,
  check(input) {
    const [id = 0] = input;
    const bytes = input.subarray(1);
    const codec = codecOf(1 + (id % 4));
    if (codec === undefined) throw new Error('a codec is missing');
    let unpacked: Buffer | undefined;
    try {
      unpacked = codec.decompress(bytes);
    } catch (error) {
      assert.match(String(error), /^Error: its \w+ data cannot be decompressed: /);
    }
    assert.ok((unpacked?.length ?? 0) <= maxUnpackedBytes);
    assert.ok(codec.decompress(codec.compress(bytes)).equals(bytes), 'a round trip');
  },
};
