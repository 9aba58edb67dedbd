import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUnwritable } from '../../src/status/unwritable.ts';
import { FakeBrokers } from '../kafka/fake-brokers.ts';

test('topics that cannot be written are named, with what is wrong with them', async () => {
  const brokers = new FakeBrokers(3);
  brokers.makeTopic('delivery', 3);
  const [, second, third] = brokers.makeTopic('delivery.b', 3);
  for (const log of [second, third]) if (log !== undefined) log.leader = -1;
  assert.deepEqual(await readUnwritable(brokers, ['delivery', 'delivery.b', 'delivery.gone']), [
    { topic: 'delivery.b', problem: 'partitions 1, 2 without a leader' },
    { topic: 'delivery.gone', problem: 'it does not exist' },
  ]);
});
