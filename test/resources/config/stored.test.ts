import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseResource } from '../../../src/resources/schema/schema.ts';
import { secretMask } from '../../../src/resources/schema/schema-parts.ts';
import { decodeStored } from '../../../src/resources/config/stored-resources.ts';
import { createSecretKeys } from '../../../src/resources/config/secrets.ts';
import {
  decodeResource,
  encodeResource,
  hasCiphertexts,
  hasSecrets,
  maskResource,
  needsNewKey,
  openResource,
  parseRecordKey,
  recordKey,
  storedUid,
  toDocument,
} from '../../../src/resources/config/stored.ts';
import {
  exampleAudience,
  exampleComputedTrait,
  exampleDestination,
  exampleHook,
  exampleKeys,
  exampleSource,
  otherKeys,
} from '../examples.ts';

test('a resource comes back from its record as it was, frozen', () => {
  for (const resource of [
    exampleSource(),
    exampleDestination(),
    exampleDestination({ uid: 'aBcdEf-h_012' }),
    exampleDestination({ rateLimit: '100/h', maxInFlight: 3, events: ['page'], sharedSecret: '' }),
    exampleDestination({ filter: { 'properties.a': null, any: [{ userId: { in: ['u1'] } }] } }),
    exampleAudience({ destinations: ['crm'] }),
    exampleComputedTrait(),
  ]) {
    const opened = openResource(
      decodeResource(resource, encodeResource(resource, exampleKeys)),
      exampleKeys,
    );
    assert.deepEqual(opened, resource);
    assert.ok(Object.isFrozen(opened));
    if (opened.kind === 'Destination') assert.ok(Object.isFrozen(opened.webhooks[0]?.headers));
  }
});

test('a uid can be read where the resource cannot, and is no part of resource files', () => {
  const destination = exampleDestination({ uid: 'second' });
  const value = encodeResource(destination, exampleKeys);
  const newer = value.replace('"version":1', '"version":2');
  assert.throws(() => decodeResource(destination, newer), { code: 'resource-invalid' });
  assert.deepEqual([storedUid(value), storedUid(newer)], ['second', 'second']);
  for (const none of ['', '[]', '{"uid":7}', '{"uid":"a b"}'])
    assert.equal(storedUid(none), undefined, none);
  assert.ok(!('uid' in toDocument(destination)));
  assert.ok('issues' in parseResource({ ...toDocument(destination), uid: 'second' }));
});

test('a customer and a manager stand beside the resource, where former releases ignore them', () => {
  const destination = exampleDestination({ customer: 'Akme – Straße 7', managedBy: 'api' });
  const value = encodeResource(destination, exampleKeys);
  const { resource, ...beside } = JSON.parse(value) as { resource: object; uid?: string };
  assert.partialDeepStrictEqual(beside, { customer: 'Akme – Straße 7', managedBy: 'api' });
  assert.ok(!('customer' in resource) && !('managedBy' in resource));
  assert.deepEqual(openResource(decodeResource(destination, value), exampleKeys), destination);
  const newer = value.replace('"version":1', '"version":2');
  assert.equal(decodeStored(recordKey(destination), newer)?.managedBy, 'api');
  assert.throws(() => decodeResource(destination, value.replace('Akme', 'Akme\\u001b')), {
    message: /is not valid: customer must be 1 to 128 printable characters/,
  });
});

test('files have a customer, and no manager', () => {
  const document = toDocument(exampleDestination({ customer: 'acme', managedBy: 'api' }));
  assert.partialDeepStrictEqual(document, { customer: 'acme' });
  assert.ok(!('managedBy' in document));
  assert.ok('issues' in parseResource({ ...document, managedBy: 'api' }));
});

test('neither the shared secret nor a header value is readable in the record', () => {
  const value = encodeResource(exampleDestination(), exampleKeys);
  assert.doesNotMatch(value, /teehee|t0ken|Bearer/);
  assert.match(value, /Authorization/);
});

test('without a key, everything but the secrets can be seen', () => {
  const stored = decodeResource(
    exampleDestination(),
    encodeResource(exampleDestination(), exampleKeys),
  );
  assert.deepEqual(maskResource(stored), {
    ...exampleDestination(),
    sharedSecret: secretMask,
    webhooks: [{ url: 'https://crm.example.com', headers: { Authorization: secretMask } }],
  });
});

test("a database's URL is sealed, and shown as set and nothing else", () => {
  const value = encodeResource(exampleAudience(), exampleKeys);
  assert.doesNotMatch(value, /pa55|db\.example\.com/);
  const stored = decodeResource(exampleAudience(), value);
  const { members } = exampleAudience();
  assert.deepEqual(maskResource(stored), {
    ...exampleAudience(),
    members: { ...members, postgres: secretMask },
  });
  assert.deepEqual(openResource(stored, exampleKeys), exampleAudience());
});

test('a query that was changed in the topic is not run with the rights of the old one', () => {
  const value = encodeResource(exampleAudience(), exampleKeys).replace(
    'from big_spenders',
    'from staff',
  );
  assert.throws(() => openResource(decodeResource(exampleAudience(), value), exampleKeys), {
    code: 'secret-unreadable',
    message: /^Audience big-spenders: members\.postgres was altered/,
  });
});

test('a resource without secrets needs no key', () => {
  const value = encodeResource(exampleSource(), {});
  const stored = decodeResource(exampleSource(), value);
  assert.equal(hasSecrets(exampleSource()), false);
  assert.deepEqual(openResource(stored, {}), exampleSource());
});

test('what the previous key wrote is known to need the new one', () => {
  const rotated = createSecretKeys(Buffer.alloc(32, 3), Buffer.alloc(32, 1));
  const stored = decodeResource(
    exampleDestination(),
    encodeResource(exampleDestination(), exampleKeys),
  );
  assert.equal(needsNewKey(stored, exampleKeys), false);
  assert.equal(needsNewKey(stored, rotated), true);
  assert.deepEqual(openResource(stored, rotated), exampleDestination());
});

test('former secrets are stored encrypted beside the resource, and no file can have them', () => {
  const formerSecrets = [{ secret: 'f0rmer', untilMs: 1_000 }];
  const destination = exampleDestination({ formerSecrets });
  const value = encodeResource(destination, exampleKeys);
  assert.doesNotMatch(value, /f0rmer/);
  const stored = decodeResource(destination, value);
  assert.deepEqual(openResource(stored, exampleKeys), destination);
  assert.doesNotMatch(JSON.stringify(maskResource(stored)), /f0rmer/);
  assert.ok(!('formerSecrets' in toDocument(destination)));
  assert.ok('issues' in parseResource({ ...toDocument(destination), formerSecrets }));
  // What a former release reads.
  const { resource } = JSON.parse(value) as { readonly resource: object };
  assert.deepEqual(Object.keys(resource), Object.keys(toDocument(destination)));
});

test('nobody prolongs a former secret in the topic, and one that is none is refused', () => {
  const destination = exampleDestination({ formerSecrets: [{ secret: 'old', untilMs: 1_000 }] });
  const value = encodeResource(destination, exampleKeys);
  const prolonged = decodeResource(destination, value.replace('"untilMs":1000', '"untilMs":2000'));
  assert.throws(() => openResource(prolonged, exampleKeys), {
    code: 'secret-unreadable',
    message: /^Destination crm: formerSecrets\[0\] was altered/,
  });
  for (const untilMs of ['-1', '1e99', 'null', '"1000"'])
    assert.throws(
      () => decodeResource(destination, value.replace('"untilMs":1000', `"untilMs":${untilMs}`)),
      { code: 'resource-invalid', message: /has former secrets that are not valid$/ },
    );
});

test('a webhook whose URL was changed in the topic does not get the headers of the old one', () => {
  const value = encodeResource(exampleDestination(), exampleKeys);
  const changed = value.replace('https://crm.example.com', 'https://evil.example.com');
  assert.throws(() => openResource(decodeResource(exampleDestination(), changed), exampleKeys), {
    code: 'secret-unreadable',
    message: /^Destination crm: webhooks\[0\]\.headers\.Authorization was altered/,
  });
});

test('a record that is no valid resource is refused with the reason', () => {
  const name = { kind: 'Source', id: 'shop' } as const;
  const valid = encodeResource(exampleSource(), exampleKeys);
  for (const [value, reason] of [
    ['', /is not one that this version can read/],
    ['{"version":2,"resource":{}}', /is not one that this version can read/],
    ['null', /is not one that this version can read/],
    ['{"version":1}', /is not valid: .*must be a resource/],
    [valid.replace('"name"', '"nom"'), /is not valid: name is missing; nom is not a known field/],
    [valid.replace('"shop"', '"other"'), /holds Source other/],
  ] as const)
    assert.throws(() => decodeResource(name, value), {
      code: 'resource-invalid',
      message: reason,
    });
});

test('a record key names kind and id; those of later versions are left alone', () => {
  const name = { kind: 'Destination', id: 'crm' } as const;
  assert.equal(recordKey(name), 'Destination/crm');
  assert.deepEqual(parseRecordKey('Destination/crm'), name);
  for (const key of ['', 'Sink/x', 'Source', 'Source/a/b', 'constructor/x'])
    assert.equal(parseRecordKey(key), undefined);
});

const chat = 'https://hooks.chat.example.com/services/T1/s3cret?a=b';
const shownChat = 'https://hooks.chat.example.com/#';
const hook = exampleHook({ url: chat, headers: { 'X-Token': 't0ken' } });
const behindUrl = exampleDestination({
  secretUrl: true,
  webhooks: [{ url: chat }],
  notify: { url: chat },
});

for (const resource of [hook, behindUrl]) {
  test(`the URL of a ${resource.kind} is stored sealed, and shown by its origin and a hash`, () => {
    const value = encodeResource(resource, exampleKeys);
    assert.doesNotMatch(value, /s3cret|t0ken|services/);
    const stored = decodeResource(resource, value);
    assert.deepEqual(openResource(stored, exampleKeys), resource);
    const shown = JSON.stringify(maskResource(stored));
    assert.ok(shown.includes(shownChat), shown);
    assert.doesNotMatch(shown, /s3cret|v1\./);
    assert.deepEqual(maskResource(stored), maskResource({ sealed: resource }));
    assert.throws(() => openResource(stored, otherKeys), { code: 'secret-unreadable' });
  });

  test(`the sealed URL of a ${resource.kind} cannot be made to show another place`, () => {
    const value = encodeResource(resource, exampleKeys).replace('hooks.chat', 'other.chat');
    assert.throws(() => openResource(decodeResource(resource, value), exampleKeys), {
      message: /url was altered in the config topic/,
    });
  });
}

test('a notice hook that an earlier version stored is read, and needs to be encrypted', () => {
  const sealed = JSON.parse(encodeResource(hook, exampleKeys)) as { resource: object };
  const value = JSON.stringify({ ...sealed, resource: { ...sealed.resource, url: chat } });
  const stored = decodeResource(hook, value);
  assert.deepEqual(openResource(stored, exampleKeys), hook);
  assert.equal(needsNewKey(stored, exampleKeys), true);
  assert.doesNotMatch(JSON.stringify(maskResource(stored)), /s3cret/);
  const plain = exampleHook({ url: chat });
  const alone = decodeResource(plain, JSON.stringify({ version: 1, resource: plain }));
  assert.equal(hasCiphertexts(alone), false);
  assert.deepEqual(openResource(alone, {}), plain);
});
