import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rotation, type Rewrite } from '../../../src/resources/config/rotation.ts';
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

/** The topic takes them. */
function write(rotation: Rotation, rewrites: readonly Rewrite[]): void {
  for (const rewrite of rewrites) rotation.accept(rewrite.key, rewrite.value);
}

test('what the previous key encrypted is written once, and what has no secrets never', () => {
  const rotation = new Rotation(during);
  rotation.accept('Source/shop', encodeResource(exampleSource(), before));
  rotation.accept(key, stored());
  const { rewrites } = rotation.plan();
  assert.deepEqual(
    rewrites.map((rewrite) => rewrite.key),
    [key],
  );
  rotation.begin(rewrites);
  write(rotation, rewrites);
  assert.deepEqual(rotation.plan(), { rewrites: [], unreadable: [] });
  const check = new Rotation(after);
  write(check, rewrites);
  assert.deepEqual(check.plan(), { rewrites: [], unreadable: [] });
});

test('former secrets are encrypted again as well', () => {
  const formerSecrets = [{ secret: 'old', untilMs: 1_000 }];
  const webhooks = [{ url: 'https://crm.example.com' }];
  const destination = exampleDestination({ sharedSecret: '', webhooks, formerSecrets });
  const rotation = new Rotation(during);
  rotation.accept(key, encodeResource(destination, before));
  const [rewrite] = rotation.plan().rewrites;
  const rewritten = decodeResource(destination, rewrite?.value ?? '');
  assert.deepEqual(openResource(rewritten, after), destination);
});

test('the URL of a hook that was stored readable is encrypted', () => {
  const url = 'https://hooks.chat.example.com/s3cret';
  const rotation = new Rotation(after);
  const value = JSON.stringify({ version: 1, resource: exampleHook({ url }) });
  rotation.accept('NoticeHook/team', value);
  const [rewrite] = rotation.plan().rewrites;
  assert.equal(rewrite?.key, 'NoticeHook/team');
  assert.doesNotMatch(rewrite.value ?? '', /s3cret/);
});

test('cut off between two records, it goes on with the rest', () => {
  const first = new Rotation(during);
  const other = encodeResource(exampleDestination({ id: 'other' }), before);
  first.accept(key, stored());
  first.accept('Destination/other', other);
  const [done, lost] = first.plan().rewrites;
  assert.ok(done !== undefined && lost !== undefined);
  const again = new Rotation(during);
  again.accept(key, done.value);
  again.accept('Destination/other', other);
  assert.deepEqual(
    again.plan().rewrites.map((rewrite) => rewrite.key),
    ['Destination/other'],
  );
});

for (const [title, theirs] of [
  ['applied', stored('CRM of theirs', during)],
  ['applied with the previous key', stored('CRM of theirs')],
  ['deleted', null],
] as const) {
  test(`what somebody ${title} before the rewrite landed is not undone`, () => {
    const rotation = new Rotation(during);
    rotation.accept(key, stored());
    const { rewrites } = rotation.plan();
    rotation.begin(rewrites);
    rotation.accept(key, theirs);
    write(rotation, rewrites);
    const repair = rotation.plan().rewrites;
    rotation.begin(repair);
    write(rotation, repair);
    assert.deepEqual(rotation.plan().rewrites, []);
    const [last] = repair;
    if (theirs === null) assert.equal(last?.value, null);
    else assert.match(last?.value ?? '', /CRM of theirs/);
  });
}

test('what neither key reads is told and left alone', () => {
  const rotation = new Rotation(createSecretKeys(newKey, otherKey));
  rotation.accept(key, stored());
  rotation.accept('Recipe/soup', '{}');
  const { rewrites, unreadable } = rotation.plan();
  assert.deepEqual(rewrites, []);
  assert.match(
    unreadable.join('\n'),
    /^Destination crm: .* was encrypted with a key other than SECRET_KEY or SECRET_KEY_PREVIOUS;.*\nthe config topic's record "Recipe\/soup" is of a kind unknown to this version$/,
  );
});
