import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { acquireExclusive, standForExclusive } from '../../src/kafka/exclusive.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { FakeBrokers } from './fake-brokers.ts';

const groupId = 'right';

/** What a process that stands for the right is told, which is at once that it has it. */
async function holder(
  t: TestContext,
  brokers: FakeBrokers,
  parts?: readonly string[],
): Promise<readonly boolean[]> {
  brokers.makeTopic('config', 1);
  const turns: boolean[] = [];
  const options = { groupId, topic: 'config', parts, clock: systemClock, log: silentLogger };
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

  test('has it beside others that want other parts of it, and whoever wants one of these waits', async (t) => {
    const brokers = new FakeBrokers(1);
    const turns = [await holder(t, brokers, ['crm']), await holder(t, brokers, ['ads', 'web'])];
    const common = { groupId, topic: 'config', clock: systemClock, log: silentLogger };
    const never = new AbortController();
    for (const parts of [undefined, ['new', 'crm']])
      assert.equal(await acquireExclusive(brokers, { ...common, parts }, never), undefined);
    assert.deepEqual(turns, [[true], [true]]);
  });
});

test('who is told to end does not wait for a group that has no coordinator', async () => {
  const brokers = new FakeBrokers(1);
  brokers.makeTopic('config', 1);
  brokers.group(groupId).findError = 'COORDINATOR_NOT_AVAILABLE';
  const stopping = new AbortController();
  const options = { groupId, topic: 'config', clock: systemClock, log: silentLogger };
  const right = acquireExclusive(brokers, options, { signal: stopping.signal });
  await eventually(() => {
    assert.ok(brokers.asked.some(({ api }) => api === 'FindCoordinator'));
  });
  stopping.abort();
  assert.equal(await right, undefined);
});
