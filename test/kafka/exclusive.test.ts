import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { standForExclusive } from '../../src/kafka/exclusive.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { FakeBrokers } from './fake-brokers.ts';

const groupId = 'right';

/** What a process that stands for the right is told, which is at once that it has it. */
async function holder(t: TestContext, brokers: FakeBrokers): Promise<readonly boolean[]> {
  brokers.makeTopic('config', 1);
  const turns: boolean[] = [];
  const options = { groupId, topic: 'config', clock: systemClock, log: silentLogger };
  const candidate = standForExclusive(brokers, options, (isHeld) => turns.push(isHeld));
  t.after(() => candidate.release());
  await eventually(() => {
    assert.deepEqual(turns, [true]);
  });
  return turns;
}

describe('who has an exclusive right', { concurrency: true }, () => {
  test('has it no longer once Kafka may have given it to another, and again if it had not', async (t) => {
    const brokers = new FakeBrokers(1);
    const turns = await holder(t, brokers);
    brokers.group(groupId).heartbeatError = 'COORDINATOR_LOAD_IN_PROGRESS';
    await eventually(() => {
      assert.deepEqual(turns, [true, false]);
    });
    brokers.group(groupId).heartbeatError = undefined;
    await eventually(() => {
      assert.deepEqual(turns, [true, false, true]);
    });
  });

  test('has it no longer as soon as the group says that it has gone on', async (t) => {
    const brokers = new FakeBrokers(1);
    const turns = await holder(t, brokers);
    const group = brokers.group(groupId);
    for (const id of group.memberIds) group.remove(id);
    await eventually(() => {
      assert.deepEqual(turns, [true, false, true]);
    });
  });
});
