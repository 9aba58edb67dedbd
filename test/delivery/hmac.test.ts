import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { hmac, hmacKey } from '../../src/delivery/hmac.ts';

test('for any secret, text and bytes they are what OpenSSL says', () => {
  const secret = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
    fc.uint8Array({ minLength: 63, maxLength: 65 }),
  );
  const text = fc.stringMatching(/^[a-z0-9._%-]{0,200}$/);
  const body = fc.uint8Array({ maxLength: 6_000 }).map((bytes) => Buffer.from(bytes));
  const signed = fc.array(fc.tuple(text, body), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.constantFrom('sha1', 'sha256'), secret, signed, (name, bytes, all) => {
      const key = hmacKey(name, bytes);
      for (const [before, each] of all)
        for (const encoding of ['hex', 'base64'] as const)
          assert.equal(
            hmac(key, before, each, encoding),
            createHmac(name, bytes).update(before).update(each).digest(encoding),
          );
    }),
  );
});
