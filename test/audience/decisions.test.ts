import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { whyUseless } from '../../src/audience/checkpoint.ts';
import { membershipKey, userOfMembership } from '../../src/audience/membership.ts';
import { objectionTo } from '../../src/audience/safety.ts';
import { ownPartitions, parseShard } from '../../src/audience/shard.ts';
import { kindOf } from '../../src/audience/sync-target.ts';
import { audience } from './members.ts';

const now = { nowMs: 1_000_000, maxAgeMs: 1_000 };
const ends = new Map([
  [0, 10],
  [2, 20],
]);

test('a checkpoint is of use until tombstones may be gone that it has not seen', () => {
  assert.equal(whyUseless(999_000, ends, { ends, ...now }), undefined);
  assert.equal(whyUseless(998_999, ends, { ends, ...now }), 'the checkpoint is too old');
  assert.equal(whyUseless(1_000_001, ends, { ends, ...now }), 'the checkpoint is from the future');
  assert.equal(whyUseless(NaN, ends, { ends, ...now }), 'the checkpoint is from the future');
});

test('a checkpoint is of no use to a topic that is shorter, or to other partitions', () => {
  const shorter = new Map([...ends, [2, 19]]);
  assert.equal(whyUseless(now.nowMs, ends, { ends: shorter, ...now }), madeAgain);
  const more = new Map([...ends, [1, 5]]);
  const others = 'the checkpoint is of other partitions';
  assert.equal(whyUseless(now.nowMs, ends, { ends: more, ...now }), others);
});

const madeAgain = 'the topic was made again since';

test('each partition has exactly one shard', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 9 }), (all, count) => {
      const shards = Array.from({ length: count }, (_, i) =>
        ownPartitions({ index: i + 1, count }, all),
      );
      assert.deepEqual(
        shards.flat().sort((a, b) => a - b),
        Array.from({ length: all }, (_, partition) => partition),
      );
    }),
  );
});

test('a shard is named by a number from 1, or by Kubernetes from 0', () => {
  assert.deepEqual(parseShard('3/8', undefined), { index: 3, count: 8 });
  assert.deepEqual(parseShard('8/8', '0'), { index: 8, count: 8 });
  assert.deepEqual(parseShard('auto/8', '0'), { index: 1, count: 8 });
  assert.deepEqual(parseShard('auto/8', '7'), { index: 8, count: 8 });
  for (const wrong of ['9/8', '0/8', '3', '3/', 'auto/8', '-1/8', '1.5/8', '3/08'])
    assert.equal(parseShard(wrong, undefined), undefined, wrong);
  assert.equal(parseShard('auto/8', '8'), undefined);
  assert.equal(parseShard('auto/8', ''), undefined);
});

test('a user of one audience is nobody in another, whatever the ids look like', () => {
  const target = audience('a');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (userId) => {
      const key = Buffer.from(membershipKey(target, userId));
      assert.equal(userOfMembership(target, key), userId);
      assert.equal(userOfMembership(audience('ab'), key), undefined);
    }),
  );
  assert.equal(userOfMembership(target, Buffer.from('ab:user')), undefined);
  assert.equal(userOfMembership(target, Buffer.from('a')), undefined);
  assert.equal(userOfMembership(target, null), undefined);
});

test('a loss of just what is allowed passes, and more is refused with the limit that would do', () => {
  const target = audience('a');
  const counts = { members: 50, before: 100, added: 0, removed: 50, changed: 0, baseline: 0 };
  const limits = { allowEmpty: false, maxRemovedPercent: 50 };
  assert.equal(objectionTo(target, counts, limits), undefined);
  const objection = objectionTo(target, { ...counts, members: 49, removed: 51 }, limits) ?? '';
  assert.match(objection, /would lose 51 of 100 users \(51 %\).*--max-removed 51$/);
  const first = { ...counts, members: 0, before: 0, removed: 0 };
  assert.equal(objectionTo(target, first, limits), undefined);
});

test('the limit that a refusal names is enough, and the one that was given is shown as it is', () => {
  const target = audience('a');
  const counts = { members: 1, added: 0, changed: 0, baseline: 0 };
  const limit = (maxRemovedPercent: number) => ({ allowEmpty: false, maxRemovedPercent });
  for (const before of [7, 100, 3_000_000]) {
    for (let percent = 1; percent <= 100; percent += 1) {
      const removed = Math.ceil((before * percent) / 100);
      const lost = { ...counts, before, removed };
      const objection = objectionTo(target, lost, limit(percent - 1)) ?? '';
      assert.ok(objection.includes(` %), allowed: ${percent - 1} %;`), objection);
      const enough = Number(/--max-removed (\d+)$/.exec(objection)?.[1]);
      assert.equal(objectionTo(target, lost, limit(enough)), undefined);
      if (before >= 100) assert.equal(enough, percent);
    }
  }
});

test('a change is named after what was before', () => {
  const userId = 'u';
  assert.equal(kindOf({ userId, value: 'true', was: null }), 'added');
  assert.equal(kindOf({ userId, value: null, was: 'true' }), 'removed');
  assert.equal(kindOf({ userId, value: '1', was: '2' }), 'changed');
  assert.equal(kindOf({ userId, value: '1', was: '1' }), 'baseline');
});
