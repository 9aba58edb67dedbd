import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { deliveryKey, type Envelope } from '../../../src/event/envelope.ts';
import { DeletedUsers } from '../../../src/resources/fence/deleted-users.ts';
import { fencedBy, type FencedBy } from '../../../src/resources/fence/fence.ts';

const deletedMs = 1_000;

function event(changes: Partial<Envelope> = {}): Envelope {
  return {
    destinationId: 'crm',
    sourceId: 'shop',
    messageId: 'm',
    type: 'track',
    configOffset: 1,
    appendTimeMs: deletedMs - 1,
    attempts: 0,
    ...changes,
  };
}

/** Of an event of this user, after `gone` was deleted at the shop. */
function verdict(
  user: string,
  changes: Partial<Envelope> = {},
  gone: string = 'gone',
): FencedBy | undefined {
  const envelope = event(changes);
  const deleted = new DeletedUsers(Infinity);
  deleted.add(Buffer.from(`shop:${gone}`), deletedMs);
  return fencedBy(envelope, Buffer.from(deliveryKey(envelope.destinationId, user)), deleted);
}

test('an older event of a deleted user is fenced, and nobody else', () => {
  assert.equal(verdict('gone'), 'user');
  assert.equal(verdict('other'), undefined);
  assert.equal(verdict('gone2'), undefined);
  assert.equal(verdict('gon'), undefined);
});

test('a call that was appended with the deletion or later passes', () => {
  assert.equal(verdict('gone', { appendTimeMs: deletedMs }), undefined);
  assert.equal(verdict('gone', { appendTimeMs: deletedMs + 1 }), undefined);
});

test('an event of another source passes', () => {
  assert.equal(verdict('gone', { sourceId: 'app' }), undefined);
  assert.equal(verdict('gone', { sourceId: 'shop-2' }), undefined);
});

test('the call counts, not its last redrive, attempt or due time', () => {
  const late = { redrivenMs: deletedMs + 9, attempts: 3, dueMs: deletedMs + 9 };
  assert.equal(verdict('gone', late), 'user');
});

test('an alias is fenced by either id, and other calls by their user alone', () => {
  const alias = { type: 'alias', previousId: 'gone' } as const;
  assert.equal(verdict('new', alias), 'previous-id');
  assert.equal(verdict('gone', { type: 'alias', previousId: 'old' }), 'user');
  assert.equal(verdict('new', { type: 'alias', previousId: 'old' }), undefined);
  assert.equal(verdict('new', { ...alias, appendTimeMs: deletedMs }), undefined);
  assert.equal(verdict('new', { ...alias, sourceId: 'app' }), undefined);
});

test('the notification of a deletion is never fenced, not even by a later deletion', () => {
  assert.equal(verdict('gone', { type: 'delete' }), undefined);
});

test('ids with colons are told apart from those of other destinations and sources', () => {
  assert.equal(verdict('crm:gone', {}, 'crm:gone'), 'user');
  assert.equal(verdict('crm:gone'), undefined);
  assert.equal(verdict('gone', {}, 'crm:gone'), undefined);
  assert.equal(verdict('a:b', { destinationId: 'other' }, 'a:b'), 'user');
});

test('an event is fenced exactly by an id of its own, deleted at its source after its call', () => {
  const id = fc.constantFrom('u1', 'u2', 'u:1', 'x:u1', 'ü');
  const sourceId = fc.constantFrom('shop', 'app');
  const timeMs = fc.integer({ min: 1, max: 20 });
  const deletions = fc.array(fc.record({ sourceId, id, timeMs }), { maxLength: 12 });
  const calls = fc.record({
    sourceId,
    user: id,
    timeMs,
    destinationId: fc.constantFrom('crm', 'x', 'a-b'),
    previousId: fc.option(id, { nil: undefined }),
  });
  fc.assert(
    fc.property(deletions, calls, (made, { user, timeMs: appendTimeMs, ...call }) => {
      const deleted = new DeletedUsers(Infinity);
      const last = new Map<string, number>();
      for (const deletion of made) {
        const key = `${deletion.sourceId}:${deletion.id}`;
        deleted.add(Buffer.from(key), deletion.timeMs);
        last.set(key, Math.max(deletion.timeMs, last.get(key) ?? 0));
      }
      const isFenced = (userId: string | undefined): boolean =>
        userId !== undefined && appendTimeMs < (last.get(`${call.sourceId}:${userId}`) ?? 0);
      const type = call.previousId === undefined ? 'identify' : 'alias';
      const envelope = event({ ...call, type, appendTimeMs });
      const key = Buffer.from(deliveryKey(call.destinationId, user));
      assert.equal(
        fencedBy(envelope, key, deleted) !== undefined,
        isFenced(user) || isFenced(call.previousId),
      );
    }),
    { numRuns: 1_000 },
  );
});
