import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { sign, signingKey } from '../../src/delivery/sign.ts';

test('signatures are lower-case hex HMAC-SHA1 over the exact bytes, with the secret as UTF-8', () => {
  const body =
    '{"version":1,"type":"track","userId":"019mr8mf4r","event":"Purchased an Item","properties":{"revenue":"39.95","shippingMethod":"2-day"},"timestamp":"2012-12-02T00:30:08.276Z"}';
  assert.equal(
    sign(signingKey('teehee'), Buffer.from(body)),
    '6584c31d030ff167eca14a1042eb7e88c881b8e8',
  );
  assert.equal(
    sign(signingKey('sécret'), Buffer.from('{"s":"é😀"}')),
    '652538e2625b13ca1ffe812d659508caa3aa79cc',
  );
});

test('for any secret and body they are what OpenSSL says', () => {
  const secret = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
    fc.stringMatching(/^[a-z]{63,65}$/),
  );
  const body = fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(secret, fc.array(body, { minLength: 1, maxLength: 3 }), (text, bodies) => {
      const key = signingKey(text);
      for (const each of bodies)
        assert.equal(sign(key, each), createHmac('sha1', text).update(each).digest('hex'));
    }),
  );
});
