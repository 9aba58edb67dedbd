import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifySignature } from '../../src/client/verify.ts';
import { sign, signingKey } from '../../src/delivery/sign.ts';

const secret = 'teehee';
const body =
  '{"version":1,"type":"track","userId":"019mr8mf4r","event":"Purchased an Item","properties":' +
  '{"revenue":"39.95","shippingMethod":"2-day"},"timestamp":"2012-12-02T00:30:08.276Z"}';
const signature = '6584c31d030ff167eca14a1042eb7e88c881b8e8';

test('the documented signature is valid for the documented body, as text and as bytes', () => {
  assert.ok(verifySignature(secret, body, signature));
  assert.ok(verifySignature(secret, Buffer.from(body), signature));
  assert.ok(verifySignature(secret, new TextEncoder().encode(body), signature));
});

test('what a delivery is signed with is valid', () => {
  for (const key of ['teehee', 'ключ', ' with spaces ', 'x'.repeat(200)]) {
    const bytes = Buffer.from('{"properties":{"name":"Käufer 🎁"}}');
    assert.ok(verifySignature(key, bytes, sign(signingKey(key), bytes)));
  }
});

test('anything else is not', () => {
  const wrong: Parameters<typeof verifySignature>[2][] = [
    ...['', 'x', signature.slice(1), `${signature}0`, `${signature} `, `0${signature.slice(1)}`],
    ...[signature.toUpperCase(), `sha1=${signature}`, 'é'.repeat(40)],
    ...[undefined, null, [signature], [signature, signature]],
  ];
  for (const header of wrong) assert.equal(verifySignature(secret, body, header), false);
  assert.equal(verifySignature('other', body, signature), false);
  assert.equal(verifySignature(secret, `${body} `, signature), false);
});

test('a secret that is empty and a body that was parsed are mistakes, not wrong signatures', () => {
  assert.throws(() => verifySignature('', body, signature), TypeError);
  assert.throws(() => verifySignature(undefined as unknown as string, body, signature), TypeError);
  const parsed = JSON.parse(body) as string;
  assert.throws(() => verifySignature(secret, parsed, signature), TypeError);
});
