import assert from 'node:assert/strict';
import { verify } from 'node:crypto';
import { test } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import fc from '../harness/fast-check.ts';
import { PreparedDestination } from '../../src/delivery/prepared-destination.ts';
import {
  newSigningKey,
  newSigningSecret,
  publicKeyOf,
} from '../../src/resources/signing-secret.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { exampleDestination } from '../resources/examples.ts';

type Signing = Pick<
  Destination,
  'signature' | 'sharedSecret' | 'formerSecrets' | 'idempotencyHeader'
>;

const body =
  '{"version":1,"type":"track","userId":"019mr8mf4r","event":"Purchased an Item","properties":{"revenue":"39.95","shippingMethod":"2-day"},"timestamp":"2012-12-02T00:30:08.276Z"}';

/** The headers of one request, by name. */
function headersOf(
  signing: Signing,
  text = body,
  messageId = 'm-1',
  nowMs = Date.now(),
): Record<string, string> {
  const prepared = new PreparedDestination(exampleDestination(signing));
  const made = prepared.headersOf(messageId, Buffer.from(text), nowMs);
  const pairs = made.flatMap((name, at) => (at % 2 === 0 ? [[name, made[at + 1] ?? '']] : []));
  return Object.fromEntries<string>(pairs as [string, string][]);
}

test('without the field, a request has X-Signature only: lower-case hex HMAC-SHA1 with the secret as UTF-8', () => {
  assert.deepEqual(headersOf({ sharedSecret: 'teehee' }), {
    'X-Signature': '6584c31d030ff167eca14a1042eb7e88c881b8e8',
  });
  assert.deepEqual(headersOf({ sharedSecret: 'sécret' }, '{"s":"é😀"}'), {
    'X-Signature': '652538e2625b13ca1ffe812d659508caa3aa79cc',
  });
  assert.deepEqual(headersOf({ sharedSecret: '' }), {});
});

test('the secret of another kind of signature changes nothing about X-Signature', () => {
  const sharedSecret = newSigningSecret();
  const alone = headersOf({ sharedSecret });
  const both = headersOf({ sharedSecret, signature: 'both' });
  assert.equal(both['X-Signature'], alone['X-Signature']);
  assert.deepEqual(Object.keys(headersOf({ sharedSecret, signature: 'standard' })), [
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
  ]);
});

test("the standard's own library takes what is signed, whatever the secret, the id and the body", () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 50 });
  const secret = fc.oneof(text, fc.constant(undefined).map(newSigningSecret));
  fc.assert(
    fc.property(secret, text, fc.json(), (sharedSecret, messageId, json) => {
      const headers = headersOf({ sharedSecret, signature: 'standard' }, json, messageId);
      const webhook = sharedSecret.startsWith('whsec_')
        ? new Webhook(sharedSecret)
        : new Webhook(Buffer.from(sharedSecret), { format: 'raw' });
      assert.deepEqual(webhook.verify(json, headers), JSON.parse(json));
      assert.throws(() => webhook.verify(`${json} `, headers), WebhookVerificationError);
    }),
  );
});

test('each attempt is signed with its own time and the same id', () => {
  const sharedSecret = newSigningSecret();
  const signing = { sharedSecret, signature: 'standard' } as const;
  const first = headersOf(signing, body, 'm-1', 1_700_000_000_999);
  const later = headersOf(signing, body, 'm-1', 1_700_000_010_000);
  assert.equal(first['webhook-timestamp'], '1700000000');
  assert.equal(later['webhook-timestamp'], '1700000010');
  assert.equal(first['webhook-id'], later['webhook-id']);
  assert.notEqual(first['webhook-signature'], later['webhook-signature']);
});

test('former secrets sign behind the present one, each up to its own end, and never for X-Signature', () => {
  const [sharedSecret, second, first] = [newSigningSecret(), newSigningKey(), newSigningSecret()];
  const formerSecrets = [
    { secret: second, untilMs: 2_000 },
    { secret: first, untilMs: 1_000 },
  ];
  const at = (nowMs: number, signing: Signing): readonly string[] =>
    (headersOf(signing, body, 'm-1', nowMs)['webhook-signature'] ?? '').split(' ');
  const alone = (secret: string, nowMs: number): string | undefined =>
    at(nowMs, { signature: 'standard', sharedSecret: secret })[0];
  const signing = { signature: 'both', sharedSecret, formerSecrets } as const;
  for (const [nowMs, secrets] of [
    [999, [sharedSecret, second, first]],
    [1_000, [sharedSecret, second]],
    [2_000, [sharedSecret]],
  ] as const)
    assert.deepEqual(
      at(nowMs, signing),
      secrets.map((secret) => alone(secret, nowMs)),
    );
  assert.equal(headersOf(signing)['X-Signature'], headersOf({ sharedSecret })['X-Signature']);
});

test("the standard's own library takes a request with either secret during an overlap", () => {
  const [sharedSecret, secret] = [newSigningSecret(), newSigningSecret()];
  const formerSecrets = [{ secret, untilMs: Infinity }];
  const headers = headersOf({ signature: 'standard', sharedSecret, formerSecrets });
  for (const each of [sharedSecret, secret])
    assert.deepEqual(new Webhook(each).verify(body, headers), JSON.parse(body));
});

test('an ed25519 key signs as v1a, and its public key verifies', () => {
  const sharedSecret = newSigningKey();
  const headers = headersOf(
    { sharedSecret, signature: 'standard' },
    body,
    'm-1',
    1_700_000_000_000,
  );
  const [version, signature = ''] = (headers['webhook-signature'] ?? '').split(',');
  assert.equal(version, 'v1a');
  const publicKey = publicKeyOf(sharedSecret) ?? assert.fail('no public key');
  const key = {
    key: Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64'),
    ]),
    format: 'der',
    type: 'spki',
  } as const;
  const signed = Buffer.from(`m-1.1700000000.${body}`);
  assert.ok(verify(null, signed, key, Buffer.from(signature, 'base64')));
});
