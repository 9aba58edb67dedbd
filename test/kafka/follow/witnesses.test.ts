import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { startFollower, type Follower } from '../../../src/kafka/follow/follower.ts';
import { witnessesOf } from '../../../src/kafka/follow/witnesses.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeBrokers, type Asked } from '../fake-brokers.ts';

const topic = 'deletions';

/** Partition 0 is led by node 1, partition 1 by node 2. */
function followed(
  t: TestContext,
  inSync: readonly number[] | undefined,
  before: (asked: Asked) => unknown = () => undefined,
): { readonly brokers: FakeBrokers; readonly follower: Follower } {
  const brokers = new FakeBrokers(3);
  for (const log of brokers.makeTopic(topic, 2)) log.inSync = inSync;
  brokers.before = before;
  const follower = startFollower(brokers, {
    topic,
    log: silentLogger,
    maxWaitMs: 20,
    needsWitnesses: true,
    onRecord: () => undefined,
  });
  t.after(() => follower.stop());
  follower.loaded.catch(() => undefined);
  return { brokers, follower };
}

/** Nobody but these nodes says who leads; whoever is asked first says it all the same. */
function silentBut(...nodeIds: readonly number[]): (asked: Asked) => void {
  return ({ api, nodeId }) => {
    if (api === 'Metadata' && nodeId > 0 && !nodeIds.includes(nodeId)) throw new Error('no route');
  };
}

function asksOf(brokers: FakeBrokers, nodeId: number): number {
  return brokers.asked.filter((each) => each.api === 'Metadata' && each.nodeId === nodeId).length;
}

describe('a follower that needs witnesses', { concurrency: true }, () => {
  test('is loaded and fresh where other replicas in sync say that the leaders lead', async (t) => {
    const { follower } = followed(t, [1, 2, 3]);
    await follower.loaded;
    assert.equal(follower.isFresh(), true);
  });

  test('is not, with all that the leaders say, while the others are silent', async (t) => {
    const { brokers, follower } = followed(t, [1, 2, 3], silentBut(1));
    await eventually(() => {
      assert.ok(asksOf(brokers, 1) >= 3 && asksOf(brokers, 3) >= 3);
    });
    assert.equal(follower.isFresh(), false);
    brokers.before = silentBut(1, 3);
    await follower.loaded;
    assert.equal(follower.isFresh(), true);
  });

  test('asks the others where one of them hangs', async (t) => {
    const { brokers, follower } = followed(t, [1, 2, 3], ({ api, nodeId }) =>
      api === 'Metadata' && nodeId === 2 ? new Promise(() => undefined) : undefined,
    );
    await follower.loaded;
    assert.equal(asksOf(brokers, 2), 1);
  });

  test('believes a leader that is the only one in sync', async (t) => {
    const { brokers, follower } = followed(t, undefined, silentBut(1, 2));
    await follower.loaded;
    assert.equal(follower.isFresh(), true);
    assert.equal(asksOf(brokers, 3), 0);
  });
});

test('witnesses are the other replicas in sync, or the leader that is alone', () => {
  const of = (leader: number, ...inSync: readonly number[]): readonly number[] =>
    witnessesOf({ leader, epoch: 0, inSync });
  assert.deepEqual(of(1, 1, 2, 3), [2, 3]);
  assert.deepEqual(of(1, 1), [1]);
  assert.deepEqual(of(1), [1]);
  assert.deepEqual(of(-1, 2), []);
});
