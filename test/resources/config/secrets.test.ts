import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import {
  createSecretKeys,
  isSealedWithCurrentKey,
  seal,
  unseal,
  type SecretPlace,
} from '../../../src/resources/config/secrets.ts';

const place: SecretPlace = {
  kind: 'Destination',
  id: 'crm',
  path: 'sharedSecret',
  boundTo: ['sharedSecret'],
};
const oldKey = randomBytes(32);
const newKey = randomBytes(32);
const keys = createSecretKeys(oldKey, undefined);

test('any text comes back as it was', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      assert.equal(unseal(seal(text, place, keys), place, keys), text);
    }),
  );
});

test('the same text never looks the same twice, nor like itself', () => {
  const one = seal('teehee', place, keys);
  assert.notEqual(one, seal('teehee', place, keys));
  assert.ok(!one.includes('teehee') && !one.includes(Buffer.from('teehee').toString('base64url')));
});

test('during a rotation the previous key still reads, and the new one writes', () => {
  const rotated = createSecretKeys(newKey, oldKey);
  const before = seal('teehee', place, keys);
  assert.equal(unseal(before, place, rotated), 'teehee');
  assert.equal(isSealedWithCurrentKey(before, rotated), false);
  const after = seal('teehee', place, rotated);
  assert.equal(isSealedWithCurrentKey(after, rotated), true);
  assert.equal(unseal(after, place, createSecretKeys(newKey, undefined)), 'teehee');
});

test('a wrong key is one sentence with the resource and the setting', () => {
  const sealed = seal('teehee', place, keys);
  const wrong = { code: 'secret-unreadable', exitCode: 1 };
  assert.throws(() => unseal(sealed, place, createSecretKeys(newKey, undefined)), {
    ...wrong,
    message:
      'Destination crm: sharedSecret was encrypted with a key other than SECRET_KEY; set SECRET_KEY_PREVIOUS to that key, or apply the resource again',
  });
  assert.throws(() => unseal(sealed, place, createSecretKeys(newKey, randomBytes(32))), {
    ...wrong,
    message: /other than SECRET_KEY or SECRET_KEY_PREVIOUS/,
  });
  assert.throws(() => unseal(sealed, place, {}), { ...wrong, message: /SECRET_KEY is not set/ });
  assert.throws(() => seal('teehee', place, {}), {
    ...wrong,
    message: /^Destination crm: sharedSecret cannot be encrypted, because SECRET_KEY is not set/,
  });
});

test('a ciphertext cannot be read at another place', () => {
  const sealed = seal('token', { ...place, boundTo: ['header', 'https://a', 'X'] }, keys);
  for (const elsewhere of [
    place,
    { ...place, boundTo: ['header', 'https://b', 'X'] },
    { ...place, boundTo: ['header', 'https://a', 'Y'] },
    { ...place, id: 'other', boundTo: ['header', 'https://a', 'X'] },
  ])
    assert.throws(() => unseal(sealed, elsewhere, keys), /was altered in the config topic/);
});

test('an altered, cut or foreign ciphertext is refused', () => {
  const sealed = seal('teehee', place, keys);
  const [version, keyId, body = ''] = sealed.split('.');
  for (let index = 0; index < body.length - 1; index += 1) {
    const altered = body[index] === 'A' ? 'B' : 'A';
    const text = `${body.slice(0, index)}${altered}${body.slice(index + 1)}`;
    assert.throws(() => unseal([version, keyId, text].join('.'), place, keys), /was altered/);
  }
  for (const cut of ['', 'AAAA', body.slice(0, 20)])
    assert.throws(() => unseal([version, keyId, cut].join('.'), place, keys), /was altered/);
  for (const foreign of ['', 'teehee', 'v2.a.b', 'v1.a'])
    assert.throws(() => unseal(foreign, place, keys), { code: 'secret-unreadable' });
});
