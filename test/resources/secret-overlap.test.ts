import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Destination } from '../../src/resources/resource.ts';
import { overlapAfter, overlapEnd, type Overlap } from '../../src/resources/secret-overlap.ts';
import { exampleDestination, exampleHook } from './examples.ts';

const hourMs = 3_600_000;
const nowMs = Date.parse('2026-11-28T10:00:00.000Z');

type Signing = Partial<Pick<Destination, 'signature' | 'secretOverlap' | 'formerSecrets'>>;

function signing(sharedSecret: string, given: Signing = {}): Destination {
  return exampleDestination({ sharedSecret, signature: 'standard', ...given });
}

function changed(before: Destination, after: Destination, endOverlap = false): Overlap {
  return overlapAfter(before, after, { nowMs, endOverlap });
}

const former = (secret: string, hours: number): { secret: string; untilMs: number } => ({
  secret,
  untilMs: nowMs + hours * hourMs,
});

test('a secret that is replaced signs for a day more, or as long as the destination says', () => {
  assert.deepEqual(changed(signing('old'), signing('new')), {
    formerSecrets: [former('old', 24)],
    note: 'the former secret signs as well until 2026-11-29T10:00:00.000Z',
  });
  const long = changed(
    signing('old', { secretOverlap: '24h' }),
    signing('new', { secretOverlap: '7d' }),
  );
  assert.deepEqual(long.formerSecrets, [former('old', 7 * 24)]);
  const { note } = changed(signing('old'), signing('new', { signature: 'both' }));
  assert.match(note ?? '', /; X-Signature is made with the new one alone$/);
});

test('former secrets stay while their time lasts, whatever else changes, and no longer', () => {
  const before = signing('new', { formerSecrets: [former('old', 1), former('older', 0)] });
  assert.deepEqual(changed(before, signing('new', { secretOverlap: '0s' })), {
    formerSecrets: [former('old', 1)],
  });
  assert.deepEqual(changed(before, signing('newest')).formerSecrets, [
    former('new', 24),
    former('old', 1),
  ]);
});

test('a secret that is replaced without an overlap ends all former ones at once', () => {
  const before = signing('old', { formerSecrets: [former('older', 1)] });
  for (const old of [before, { ...before, sharedSecret: 'whsec_§' }])
    assert.deepEqual(changed(old, signing('new', { secretOverlap: '0s' })), { isEnded: true });
  const alone = signing('old', { formerSecrets: [former('older', 0)] });
  assert.deepEqual(changed(alone, signing('new', { secretOverlap: '0s' })), { isEnded: false });
});

test('at most three former secrets sign, and who changes the secret again is told', () => {
  const formerSecrets = [former('3', 3), former('2', 2), former('1', 1)];
  const { note, ...kept } = changed(signing('4', { formerSecrets }), signing('5'));
  assert.deepEqual(kept.formerSecrets, [former('4', 24), former('3', 3), former('2', 2)]);
  assert.match(note ?? '', /at most 3 former secrets sign: the oldest one ends now/);
});

test('a secret that is taken back is no former one', () => {
  const before = signing('new', { formerSecrets: [former('old', 1)] });
  assert.deepEqual(changed(before, signing('old')).formerSecrets, [former('new', 24)]);
});

test('an overlap ends with the secret, with the signature, and when it is told to', () => {
  const before = signing('new', { formerSecrets: [former('old', 1)] });
  assert.deepEqual(changed(before, exampleDestination({ sharedSecret: '' })), {});
  assert.deepEqual(changed(before, exampleDestination({ sharedSecret: 'new' })), {});
  assert.deepEqual(changed(before, signing('new'), true), { isEnded: true });
  assert.deepEqual(changed(signing('old'), signing('new'), true), { isEnded: false });
});

test('X-Signature has room for one secret, so a change counts at once and says so', () => {
  const note = 'X-Signature has room for one secret: the new one counts at once';
  const old = exampleDestination({ sharedSecret: 'old' });
  assert.deepEqual(changed(old, { ...old, sharedSecret: 'new' }), { note });
  const hook = exampleHook({ sharedSecret: 'old' });
  const options = { nowMs, endOverlap: false };
  assert.deepEqual(overlapAfter(hook, { ...hook, sharedSecret: 'new' }, options), { note });
  assert.deepEqual(overlapAfter(hook, hook, options), {});
});

test('a secret of X-Signature overlaps with one of the standard only if it can sign by it', () => {
  const old = exampleDestination({ sharedSecret: 'old' });
  assert.deepEqual(changed(old, signing('new')).formerSecrets, [former('old', 24)]);
  assert.deepEqual(changed({ ...old, sharedSecret: 'whsec_§' }, signing('new')), {
    note: 'the former secret cannot sign by the standard: the new one counts at once',
  });
});

test('the overlap of a destination ends with the last of its former secrets', () => {
  const formerSecrets = [former('3', 2), former('2', 3), former('1', 0)];
  assert.equal(overlapEnd({ formerSecrets }, nowMs), '2026-11-28T13:00:00.000Z');
  assert.equal(overlapEnd({ formerSecrets }, nowMs + 3 * hourMs), undefined);
  assert.equal(overlapEnd({}, nowMs), undefined);
});
