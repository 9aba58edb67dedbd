import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planRotation } from '../../../src/resources/config/rotation.ts';
import { createSecretKeys } from '../../../src/resources/config/secrets.ts';
import {
  decodeResource,
  encodeResource,
  openResource,
} from '../../../src/resources/config/stored.ts';
import { exampleDestination, exampleHook, exampleSource } from '../examples.ts';

const [oldKey, newKey, otherKey] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte));
const before = createSecretKeys(oldKey, undefined);
const during = createSecretKeys(newKey, oldKey);
const after = createSecretKeys(newKey, undefined);
const key = 'Destination/crm';

function stored(name: string = 'CRM', keys: typeof before = before): string {
  return encodeResource(exampleDestination({ name }), keys);
}

function plan(records: Readonly<Record<string, string>>, keys: typeof before) {
  return planRotation(new Map(Object.entries(records)), keys);
}

test('what the previous key encrypted is written once, and what has no secrets never', () => {
  const source = encodeResource(exampleSource(), before);
  const { records } = plan({ 'Source/shop': source, [key]: stored() }, during);
  assert.deepEqual(
    records.map((record) => record.key),
    [key],
  );
  const again = { 'Source/shop': source, [key]: records[0]?.value ?? '' };
  for (const keys of [during, after])
    assert.deepEqual(plan(again, keys), { records: [], unreadable: [] });
});

test('former secrets are encrypted again as well', () => {
  const formerSecrets = [{ secret: 'old', untilMs: 1_000 }];
  const webhooks = [{ url: 'https://crm.example.com' }];
  const destination = exampleDestination({ sharedSecret: '', webhooks, formerSecrets });
  const [record] = plan({ [key]: encodeResource(destination, before) }, during).records;
  const rewritten = decodeResource(destination, record?.value ?? '');
  assert.deepEqual(openResource(rewritten, after), destination);
});

test('the URL of a hook that was stored readable is encrypted', () => {
  const url = 'https://hooks.chat.example.com/s3cret';
  const value = JSON.stringify({ version: 1, resource: exampleHook({ url }) });
  const [record] = plan({ 'NoticeHook/team': value }, after).records;
  const rewritten = decodeResource({ kind: 'NoticeHook', id: 'team' }, record?.value ?? '');
  assert.deepEqual(openResource(rewritten, after), exampleHook({ url }));
});

test('what neither key reads is told and left alone', () => {
  const keys = createSecretKeys(newKey, otherKey);
  const { records, unreadable } = plan({ [key]: stored(), 'Recipe/soup': '{}' }, keys);
  assert.deepEqual(records, []);
  assert.match(
    unreadable.join('\n'),
    /^Destination crm: .* was encrypted with a key other than SECRET_KEY or SECRET_KEY_PREVIOUS;.*\nthe config topic's record "Recipe\/soup" is of a kind unknown to this version$/,
  );
});
