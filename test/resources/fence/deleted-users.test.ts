import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { DeletedUsers } from '../../../src/resources/fence/deleted-users.ts';

const source = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,5}$/);
/** Few of them, so that the same ones come again, with colons, and in many scripts. */
const user = fc.oneof(
  fc.constantFrom('u', 'u:', ':u', 'a:u', 'shop:u', '', 'ü', '\u0000', 'u'.repeat(300)),
  fc.string({ unit: 'grapheme', maxLength: 3 }),
);
const step = fc.record({
  source,
  user,
  /** Undefined: the deletion is taken back. */
  timeMs: fc.option(fc.integer({ min: 1, max: 1e13 }), { nil: undefined }),
});

function keyOf(sourceId: string, userId: string): Buffer {
  return Buffer.from(`${sourceId}:${userId}`);
}

/** As a worker asks: the id is behind something else in a record's key. */
function timeOf(deleted: DeletedUsers, sourceId: string, userId: string): number {
  const before = 'crm:';
  return deleted.timeMs(sourceId, Buffer.from(before + userId), before.length);
}

test('it knows exactly what a map of all deletions knows', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), source, user, (steps, other, stranger) => {
      const deleted = new DeletedUsers(Infinity);
      const model = new Map<string, number>();
      for (const { source: sourceId, user: userId, timeMs } of steps) {
        const key = keyOf(sourceId, userId);
        if (timeMs === undefined) deleted.remove(key);
        else deleted.add(key, timeMs);
        const beforeMs =
          timeMs === undefined ? -Infinity : (model.get(key.toString()) ?? -Infinity);
        model.set(key.toString(), Math.max(beforeMs, timeMs ?? -Infinity));
      }
      for (const each of [...steps, { source: other, user: stranger }]) {
        const expected = model.get(`${each.source}:${each.user}`) ?? -Infinity;
        assert.equal(timeOf(deleted, each.source, each.user), expected);
      }
    }),
    { numRuns: 300 },
  );
});

test('ids that differ only in where the source ends are different users', () => {
  const deleted = new DeletedUsers(Infinity);
  deleted.add(keyOf('a', 'b:c'), 5);
  assert.equal(timeOf(deleted, 'a', 'b:c'), 5);
  assert.equal(timeOf(deleted, 'a', 'b'), -Infinity);
  assert.equal(timeOf(deleted, 'b', 'c'), -Infinity);
});

/** Enough of them for some to share 32 bits of any hash. */
function ids(count: number, name: string): string[] {
  return Array.from({ length: count }, (_, i) => hash('sha1', `${name}-${i}`));
}

test('two hundred thousand users are all known, nobody else is, and each takes at most 100 bytes', () => {
  const deleted = new DeletedUsers(Infinity);
  const users = ids(200_000, 'user');
  for (const [i, each] of users.entries()) {
    const beforeBytes = deleted.bytes;
    deleted.add(keyOf('shop', each), i + 1);
    // While it grows, what there was and what there will be are both in memory.
    const peakBytes = deleted.bytes === beforeBytes ? beforeBytes : beforeBytes + deleted.bytes;
    if (i > 100) assert.ok(peakBytes / deleted.size <= 100, `${peakBytes} bytes for ${i}`);
  }
  assert.equal(deleted.size, users.length);
  for (const [i, each] of users.entries()) assert.equal(timeOf(deleted, 'shop', each), i + 1);
  for (const each of users) assert.equal(timeOf(deleted, 'app', each), -Infinity);
  for (const each of ids(200_000, 'stranger'))
    assert.equal(timeOf(deleted, 'shop', each), -Infinity);
});

test('what is older than is kept makes room, and nothing else does', () => {
  const keptMs = 1_000;
  const deleted = new DeletedUsers(keptMs);
  // Ten a millisecond for 100 s: the last second of them is wanted.
  for (let i = 0; i < 100_000; i += 1) deleted.add(keyOf('shop', `u${i}`), 1 + i);
  assert.ok(deleted.size < 5_000, `${deleted.size} are known`);
  for (let i = 99_000; i < 100_000; i += 1) assert.equal(timeOf(deleted, 'shop', `u${i}`), 1 + i);
});
