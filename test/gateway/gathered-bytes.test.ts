import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { GatheredBytes } from '../../src/gateway/gathered-bytes.ts';

test('bytes are whole and in order, however they come', () => {
  const size = fc.oneof(fc.nat(20), fc.nat(5_000), fc.integer({ min: 4_000, max: 70_000 }));
  fc.assert(
    fc.property(fc.array(size), (sizes) => {
      const chunks = sizes.map((bytes, n) => Buffer.alloc(bytes, `${n} `));
      const gathered = new GatheredBytes();
      for (const chunk of chunks) gathered.add(chunk);
      const all = Buffer.concat(chunks);
      assert.equal(gathered.length, all.length);
      assert.ok(gathered.whole().equals(all));
    }),
  );
});
