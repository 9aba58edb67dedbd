import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, OwnedPartition } from '../../../src/kafka/consume/owned-partition.ts';

/** Read up to offset 100 of 1,100, the last record of which was appended at 1,000. */
function behind(): OwnedPartition {
  const owned = new OwnedPartition({ topic: 't', partition: 0 }, { records: 10, bytes: 1_000 });
  owned.highWatermark = 1_100;
  owned.account = new Account(99, 99);
  owned.account.add(99, 0, 1, 1_000);
  return owned;
}

test('as many records as are not read are taken to have come evenly since the last one that was', () => {
  assert.equal(behind().unreadBefore(1_500, 2_000), 500);
  assert.equal(behind().unreadBefore(1_900, 2_000), 900);
});

test('nothing is older than the last record that was read', () => {
  assert.equal(behind().unreadBefore(1_000, 1_000), 0);
  assert.equal(behind().unreadBefore(500, 2_000), 0);
});

test('where all was read nothing is unread, also where the end that is known is older', () => {
  const owned = behind();
  for (const end of [100, 90]) {
    owned.highWatermark = end;
    assert.equal(owned.unreadBefore(1_500, 2_000), 0);
  }
});

test('of a partition of which nothing was read nothing is said', () => {
  const owned = behind();
  owned.account = new Account(99, 99);
  assert.equal(owned.unreadBefore(1_500, 2_000), 0);
  owned.account = undefined;
  assert.equal(owned.unreadBefore(1_500, 2_000), 0);
});
