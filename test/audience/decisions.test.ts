import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { whyUseless } from '../../src/audience/checkpoint.ts';
import { Memberships } from '../../src/audience/membership.ts';
import { kindOf, type Difference } from '../../src/audience/changes.ts';
import { cutOffRun } from '../../src/audience/everyone.ts';
import { defaultLimits, objectionTo } from '../../src/audience/safety.ts';
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

test('a user of one audience is nobody in another, nor under another trait, whatever the ids look like', () => {
  const target = audience('a');
  const keysOf = (changes: Parameters<typeof audience>[1], id = 'a'): Memberships =>
    new Memberships('m', audience(id, changes), 0);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (userId) => {
      const { key } = new Memberships('m', target, 0).record(0, userId, 'true');
      const bytes = Buffer.from(key ?? '');
      assert.equal(keysOf({}).userOf(bytes), userId);
      assert.equal(keysOf({}, 'ab').userOf(bytes), undefined);
      assert.equal(keysOf({ trait: 'gold' }).userOf(bytes), undefined);
      assert.equal(keysOf({ source: 'app' }).userOf(bytes), undefined);
      const [former] = keysOf({}).adopted(0, userId, 'true', 0);
      assert.equal(keysOf({}).formerUserOf(Buffer.from(former?.key ?? '')), userId);
    }),
  );
  assert.equal(keysOf({}).userOf(Buffer.from('a')), undefined);
  assert.equal(keysOf({}).formerUserOf(Buffer.from('a')), undefined);
});

const calm: Difference = {
  members: 100,
  before: 100,
  added: 0,
  removed: 0,
  changed: 0,
  baseline: 0,
  forgotten: 0,
  changedAlike: 0,
};
const usual = { allowEmpty: false, ...defaultLimits };

test('a change of just what is allowed passes, and more is refused with the limit that would do', () => {
  const target = audience('a');
  const objection = (found: Partial<Difference>): string | undefined =>
    objectionTo(target, { ...calm, ...found }, usual);
  assert.equal(objection({ removed: 20, changedAlike: 20, added: 100 }), undefined);
  assert.match(
    objection({ removed: 21 }) ?? '',
    /would lose 21 of 100 users \(21 %\), allowed: 20 %; .*--max-removed 21$/,
  );
  assert.match(
    objection({ changedAlike: 21 }) ?? '',
    /would give the same new value to 21 of 100 users \(21 %\), .*--max-changed 21$/,
  );
  assert.match(
    objection({ added: 101 }) ?? '',
    /would add 101 users to 100 \(101 %\), .*--max-added 101$/,
  );
  assert.equal(objection({ members: 0, before: 0, added: 0 }), undefined);
  assert.match(
    objection({ members: 0, removed: 100 }) ?? '',
    /has no users, .* use --allow-empty$/,
  );
});

test('what a sync that was cut off could not send is no surprise to the next', () => {
  const rest = { ...calm, before: 10, members: 100, added: 90 };
  assert.match(objectionTo(audience('a'), rest, usual) ?? '', /--max-added 900$/);
  assert.equal(objectionTo(audience('a'), rest, usual, 100), undefined);
  const few = { ...usual, maxAdded: 10 };
  for (const before of [0, 10, 99]) {
    const objection = (added: number): string | undefined =>
      objectionTo(audience('a'), { ...rest, before, added }, few, 100);
    assert.equal(objection(100 - before), undefined);
    assert.equal(objection(110 - before), undefined);
    assert.match(objection(111 - before) ?? '', /would add 11 users to 100 \(11 %\), .*-added 11$/);
  }
});

test('a first sync that was cut off before it sent anything may be followed by one of about as many users', () => {
  const objection = (users: number, expected: number): string | undefined =>
    objectionTo(
      audience('a'),
      { ...calm, before: 0, members: users, added: users },
      usual,
      expected,
    );
  assert.equal(objection(100, 100), undefined);
  assert.match(
    objection(900, 100) ?? '',
    /would add 800 users to 100 \(800 %\), .*--max-added 800$/,
  );
  assert.equal(objection(0, 100), undefined);
  assert.equal(objection(900, 0), undefined);
});

test('the limit that a refusal names is enough, and the one that was given is shown as it is', () => {
  const target = audience('a');
  const limit = (maxRemoved: number) => ({ ...usual, maxRemoved });
  for (const before of [7, 100, 3_000_000]) {
    for (let percent = 1; percent <= 100; percent += 1) {
      const removed = Math.ceil((before * percent) / 100);
      const lost = { ...calm, members: 1, before, removed };
      const objection = objectionTo(target, lost, limit(percent - 1)) ?? '';
      assert.ok(objection.includes(` %), allowed: ${percent - 1} %;`), objection);
      const enough = Number(/--max-removed (\d+)$/.exec(objection)?.[1]);
      assert.equal(objectionTo(target, lost, limit(enough)), undefined);
      if (before >= 100) assert.equal(enough, percent);
    }
  }
});

test('a change is named after what was before', () => {
  const change = { userId: 'u', deletedMs: undefined };
  assert.equal(kindOf({ ...change, value: 'true', was: null }), 'added');
  assert.equal(kindOf({ ...change, value: null, was: 'true' }), 'removed');
  assert.equal(kindOf({ ...change, value: '1', was: '2' }), 'changed');
  assert.equal(kindOf({ ...change, value: '1', was: '1' }), 'baseline');
  assert.equal(kindOf({ ...change, value: null, was: '1', deletedMs: 5 }), 'forgotten');
});

test('a run that tells everyone goes on from one of the same kind that was cut off, if it is not too old', () => {
  const what = { source: 'shop', trait: 'vip' };
  const wanted = { destinations: ['crm'], reached: ['crm'], isTakenBack: false, ...what };
  const text = (changes: object): string =>
    JSON.stringify({ ...wanted, sync: 's1', timeMs: 1_000, after: 'm', ...changes });
  const found = cutOffRun(
    new Map([
      [0, text({})],
      [1, text({ sync: 's0', timeMs: 900 })],
    ]),
    wanted,
    2_000,
  );
  assert.ok(found);
  assert.deepEqual(found.baseline, { ...wanted, sync: 's1', timeMs: 1_000 });
  assert.deepEqual(found.after, new Map([[0, 'm']]));
  const one = new Map([[0, text({})]]);
  assert.equal(cutOffRun(one, { ...wanted, destinations: undefined }, 2_000), undefined);
  assert.equal(cutOffRun(one, { ...wanted, isTakenBack: true }, 2_000), undefined);
  assert.equal(cutOffRun(one, { ...wanted, trait: 'other' }, 2_000), undefined);
  assert.equal(cutOffRun(one, { ...wanted, source: 'other' }, 2_000), undefined);
  const ofFormerRelease = new Map([[0, text({ source: undefined, trait: undefined })]]);
  assert.equal(cutOffRun(ofFormerRelease, wanted, 2_000), undefined);
  assert.equal(cutOffRun(one, { ...wanted, reached: ['crm', 'ads'] }, 2_000), undefined);
  assert.ok(cutOffRun(one, { ...wanted, reached: [] }, 2_000));
  assert.equal(cutOffRun(one, wanted, 1_000 + 86_400_001), undefined);
});
