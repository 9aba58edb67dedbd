import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IncomingRecord } from '../../../src/kafka/record.ts';
import {
  suppressedBy,
  suppressionRecord,
  suppressions,
} from '../../../src/resources/suppressions/suppressed-users.ts';
import { callOf } from '../../event/some-calls.ts';

function tableOf(
  ...records: readonly (readonly [userId: string, time?: string])[]
): Map<string, number> {
  const table = suppressions.create(undefined);
  records.forEach(([userId, time], offset) => {
    const { topic, key, value } = suppressionRecord('suppressions', userId, time);
    const record: IncomingRecord = {
      topic,
      partition: 0,
      offset,
      timestampMs: offset + 1,
      key: Buffer.from(key as string),
      value: value === null ? null : Buffer.from(value as string),
      headers: {},
    };
    suppressions.apply(table, record);
  });
  return table;
}

const time = '2026-11-24T10:00:00.000Z';

test('a user is suppressed from the record on until it is lifted', () => {
  const users = tableOf(['u1', time], ['u2', time], ['u2'], ['half\ud83d', time]);
  const found = (userId: string): unknown => suppressedBy(users, callOf({ type: 'page', userId }));
  assert.deepEqual(found('u1'), { id: 'u1', sinceMs: 1 });
  assert.equal(found('u2'), undefined);
  assert.equal(found('u3'), undefined);
  assert.deepEqual(found('half\ud83d'), { id: 'half\ufffd', sinceMs: 4 });
  assert.equal(suppressedBy(tableOf(), callOf({ type: 'page', userId: 'u1' })), undefined);
});

test('each id of a call counts, and the previous one of an alias', () => {
  const users = tableOf(['u1', time]);
  const isSuppressed = (fields: object): boolean =>
    suppressedBy(users, callOf({ type: 'page', ...fields })) !== undefined;
  assert.ok(isSuppressed({ userId: 'other', anonymousId: 'u1' }));
  assert.ok(isSuppressed({ anonymousId: 'u1' }));
  assert.ok(isSuppressed({ type: 'alias', userId: 'other', previousId: 'u1' }));
  assert.ok(!isSuppressed({ type: 'page', userId: 'other', previousId: 'u1' }));
  assert.ok(!isSuppressed({ type: 'group', userId: 'other', groupId: 'u1' }));
});
