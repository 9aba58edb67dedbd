import assert from 'node:assert/strict';
import { test } from 'node:test';
import kafkajs from 'kafkajs';
import { registerCodecs } from '../../src/kafka/client.ts';
import { codecOf } from '../../src/kafka/protocol/codecs.ts';

interface Registered {
  compress(records: { readonly buffer: Buffer }): Buffer;
  decompress(bytes: Buffer): Buffer;
}

test('kafkajs finds every codec by its number after registering', () => {
  registerCodecs(kafkajs);
  const { CompressionCodecs, CompressionTypes: types } = kafkajs;
  const buffer = Buffer.from('hello '.repeat(100));
  for (const type of [types.GZIP, types.Snappy, types.LZ4, types.ZSTD]) {
    const registered = (CompressionCodecs as Record<number, () => Registered>)[type];
    assert.ok(registered !== undefined);
    const packed = registered().compress({ buffer });
    assert.ok(packed.length < buffer.length);
    assert.ok(registered().decompress(packed).equals(buffer));
    assert.ok(codecOf(type)?.decompress(packed).equals(buffer));
  }
});
