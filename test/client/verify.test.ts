import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import {
  eventsOf,
  signatureProblem,
  verifySignature,
  type RequestHeaders,
} from '../../src/client/verify.ts';
import { hmac, hmacKey } from '../../src/delivery/hmac.ts';

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
    const signed = hmac(hmacKey('sha1', Buffer.from(key)), '', bytes, 'hex');
    assert.ok(verifySignature(key, bytes, signed));
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

test('with several secrets, any of them is right', () => {
  assert.ok(verifySignature(['other', secret], body, signature));
  assert.equal(verifySignature(['other', 'another'], body, signature), false);
  assert.throws(() => verifySignature([], body, signature), TypeError);
  assert.throws(() => verifySignature([secret, ''], body, signature), TypeError);
});

test('the events of a body are those of a batch, or the one', () => {
  const one = { type: 'track', properties: { tags: ['a'] } };
  assert.deepEqual(eventsOf(JSON.stringify(one)), [one]);
  assert.deepEqual(eventsOf(JSON.stringify([one])), [one]);
  assert.deepEqual(eventsOf(Buffer.from(JSON.stringify([one, 'Käufer']))), [one, 'Käufer']);
  assert.deepEqual(eventsOf('[]'), []);
  assert.throws(() => eventsOf('[{'), SyntaxError);
});

const whsec = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A request as the standard's own library signs it. */
function signedAt(ageMs: number, secrets: readonly string[] = [whsec]): Record<string, string> {
  const at = new Date(Date.now() - ageMs);
  const signatures = secrets.map((each) => new Webhook(each).sign('m-1', at, body));
  return {
    'webhook-id': 'm-1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  };
}

test('what the library of Standard Webhooks signs is believed, from Node.js and from Fetch', () => {
  const headers = signedAt(0);
  assert.equal(signatureProblem(whsec, body, headers), undefined);
  assert.equal(signatureProblem(whsec, Buffer.from(body), new Headers(headers)), undefined);
});

test('a request that is signed with two secrets is believed by who has either, and by who has both', () => {
  const next = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
  for (const secrets of [whsec, next, [whsec, next], [next, 'old']])
    assert.equal(signatureProblem(secrets, body, signedAt(0, [next, whsec])), undefined);
  assert.equal(signatureProblem('old', body, signedAt(0, [next, whsec])), 'wrong');
});

test('what is wrong with a request is told', () => {
  const right = signedAt(0);
  const without = (name: string): RequestHeaders =>
    Object.fromEntries(Object.entries(right).filter(([each]) => each !== name));
  for (const name of Object.keys(right))
    assert.equal(signatureProblem(whsec, body, without(name)), 'missing');
  assert.equal(
    signatureProblem(whsec, body, { ...right, 'webhook-id': ['m-1', 'm-1'] }),
    'missing',
  );
  for (const changed of [
    { 'webhook-id': 'm-2' },
    { 'webhook-timestamp': String(Number(right['webhook-timestamp']) + 1) },
    { 'webhook-timestamp': 'now' },
    { 'webhook-signature': (right['webhook-signature'] ?? '').replace('v1,', 'v1a,') },
    { 'webhook-signature': 'v1,' },
    { 'webhook-signature': 'x'.repeat(10_000) },
  ])
    assert.equal(signatureProblem(whsec, body, { ...right, ...changed }), 'wrong');
  assert.equal(signatureProblem(whsec, `${body} `, right), 'wrong');
});

test('a recorded request is refused after five minutes, or after the tolerance that is given', () => {
  assert.equal(signatureProblem(whsec, body, signedAt(299_000)), undefined);
  assert.equal(signatureProblem(whsec, body, signedAt(302_000)), 'too-old');
  assert.equal(signatureProblem(whsec, body, signedAt(-302_000)), 'too-new');
  assert.equal(signatureProblem(whsec, body, signedAt(3_000), { toleranceMs: 1_000 }), 'too-old');
});

test('an ed25519 signature is verified with the public key', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signed = sign(null, Buffer.from(`m-1.${timestamp}.${body}`), privateKey);
  const headers = {
    'webhook-id': 'm-1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1a,${signed.toString('base64')}`,
  };
  const whpk = `whpk_${raw.toString('base64')}`;
  assert.equal(signatureProblem([whsec, whpk], body, headers), undefined);
  assert.equal(signatureProblem(whpk, `${body} `, headers), 'wrong');
});

test('a secret that is no base64 after its prefix is a mistake', () => {
  for (const wrong of ['whsec_', 'whsec_§', 'whpk_a b', 'whpk_AAAA', ''])
    assert.throws(() => signatureProblem(wrong, body, signedAt(0)));
});
