import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodeCommitMetadata } from '../../../src/kafka/consume/commit-metadata.ts';
import { Coordinator } from '../../../src/kafka/consume/coordinator.ts';
import { Account, OwnedPartition } from '../../../src/kafka/consume/owned-partition.ts';
import { lookUpPositions, mayKeep } from '../../../src/kafka/consume/positions.ts';
import { Cursor } from '../../../src/kafka/fetch/cursor.ts';
import { FakeBrokers } from '../fake-brokers.ts';

const topic = 'topic';
const limits = { records: 100, bytes: 1_000 };

/** Partition 0 of a topic, and what is said of it when it is looked up. */
function partitionZero() {
  const brokers = new FakeBrokers();
  const [log] = brokers.makeTopic(topic, 1);
  if (log === undefined) throw new RangeError('no log');
  const partition = new OwnedPartition({ topic, partition: 0 }, limits);
  const { commits } = brokers.group('group');
  return {
    brokers,
    log,
    partition,
    commit: (offset: number, metadata = '') => commits.set(`${topic}/0`, { offset, metadata }),
    lookUp: async (of: OwnedPartition = partition) => {
      const cluster = brokers.openCluster();
      const coordinator = new Coordinator(cluster, 'group');
      const [position] = await lookUpPositions(cluster, coordinator, [of]);
      if (position === undefined) throw new RangeError('no position');
      return position;
    },
  };
}

test('an account is kept only if its last commit is what the broker holds', () => {
  const own = { committed: 10, attempted: 10 };
  assert.equal(mayKeep(own, 10), true);
  assert.equal(mayKeep(own, 9), false);
  assert.equal(mayKeep(own, 11), false);
});

test('a commit whose answer was lost may or may not have arrived', () => {
  const own = { committed: 10, attempted: 15 };
  assert.equal(mayKeep(own, 10), true);
  assert.equal(mayKeep(own, 15), true);
  assert.equal(mayKeep(own, 16), false);
  assert.equal(mayKeep({ committed: undefined, attempted: 15 }, 15), true);
  assert.equal(mayKeep({ committed: undefined, attempted: 15 }, 14), false);
});

test('a commit may go back, where a log was cut off', () => {
  const own = { committed: 10, attempted: 5 };
  for (const [onBroker, isKept] of [
    [4, false],
    [5, true],
    [10, true],
    [11, false],
  ] as const)
    assert.equal(mayKeep(own, onBroker), isKept);
});

test('a commit that the broker forgot is not one of ours', () => {
  assert.equal(mayKeep({ committed: 10, attempted: 10 }, -1), false);
  assert.equal(mayKeep({ committed: undefined, attempted: undefined }, -1), true);
});

test('a partition goes on at its committed offset, with what was told there', async () => {
  const { brokers, partition, log, commit, lookUp } = partitionZero();
  log.append('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  const ahead = { upTo: 8, unfinished: new Set([3, 5]) };
  commit(3, encodeCommitMetadata(3, { epoch: 7, ahead, topicId: brokers.topics.get(topic)?.id }));
  const { account, epoch } = await lookUp();
  assert.deepEqual([account.tracker.next, account.committed, epoch], [3, 3, 7]);
  assert.deepEqual(account.tracker.finishedAhead(100), ahead);
  assert.equal(partition.account, undefined);
});

test('one of which nothing is committed goes on at the earliest offset', async () => {
  const { log, lookUp } = partitionZero();
  log.append('a', 'b');
  log.append('c');
  log.removeBefore(2);
  const { account, epoch } = await lookUp();
  assert.deepEqual([account.tracker.next, account.committed, epoch], [2, undefined, -1]);
});

test('an account that nobody has moved goes on behind what is in flight', async () => {
  const { partition, commit, lookUp } = partitionZero();
  partition.account = new Account(3, 3);
  partition.account.tracker.add(3, 1, 0);
  commit(3);
  assert.equal((await lookUp()).account, partition.account);
  commit(4);
  const { account } = await lookUp();
  assert.notEqual(account, partition.account);
  assert.equal(account.tracker.next, 4);
});

test('what is committed of a topic that was made again may be of the former one', async () => {
  const { partition, commit, lookUp } = partitionZero();
  commit(3);
  partition.isRemade = true;
  const { account } = await lookUp();
  assert.deepEqual([account.tracker.next, account.committed], [0, undefined]);
});

test('what is committed of the present topic holds, though the first broker that is asked tells of the former one', async () => {
  const { brokers, commit, lookUp } = partitionZero();
  const present = brokers.topics.get(topic);
  assert.ok(present);
  commit(3, encodeCommitMetadata(3, { epoch: 7, ahead: undefined, topicId: present.id }));
  let asked = 0;
  brokers.before = ({ api }) => {
    if (api !== 'Metadata') return;
    asked += 1;
    brokers.topics.set(topic, asked === 1 ? { ...present, id: 'f'.repeat(32) } : present);
  };
  const { account, topicId } = await lookUp();
  assert.deepEqual([account.tracker.next, topicId, asked], [3, present.id, 2]);
});

test('what is committed says of which topic it is, be it the former one or the present one', async () => {
  const { brokers, partition, commit, lookUp } = partitionZero();
  const of = (topicId: string | undefined): string =>
    encodeCommitMetadata(3, { epoch: 7, ahead: undefined, topicId });
  const former = brokers.topics.get(topic)?.id;
  brokers.makeTopic(topic, 1);
  const present = brokers.topics.get(topic)?.id;
  for (const isRemade of [false, true]) {
    partition.isRemade = isRemade;
    commit(3, of(former));
    const { account, epoch, topicId } = await lookUp();
    assert.deepEqual([account.tracker.next, account.committed, epoch], [0, undefined, -1]);
    assert.equal(topicId, present);
    commit(3, of(present));
    assert.equal((await lookUp()).account.tracker.next, 3);
  }
  // Of a release that told nothing of the topic.
  partition.isRemade = false;
  commit(3, of(undefined));
  assert.equal((await lookUp()).account.tracker.next, 3);
});

test('what is in flight of a topic is not gone on with in the one that was made again', async () => {
  const { brokers, partition, lookUp } = partitionZero();
  partition.account = new Account(0, undefined);
  partition.account.tracker.add(0, 1, 0);
  partition.cursor = new Cursor(partition, 1, 1_000);
  partition.cursor.topicId = brokers.topics.get(topic)?.id;
  assert.equal((await lookUp()).account, partition.account);
  brokers.makeTopic(topic, 1);
  const { account } = await lookUp();
  assert.notEqual(account, partition.account);
  assert.equal(account.tracker.next, 0);
});

test('an answer that does not name a partition does not say that nothing is committed', async () => {
  const { partition } = partitionZero();
  const brokers = new FakeBrokers();
  brokers.makeTopic(topic, 1);
  const cluster = brokers.openCluster();
  const silent = Object.assign(cluster, {
    askCoordinator: () => Promise.resolve({ errorCode: 0, responses: [] }),
  });
  const coordinator = new Coordinator(silent, 'group');
  await assert.rejects(lookUpPositions(silent, coordinator, [partition]), /not answer for all/);
});

test('while the coordinator is not there, nothing is known', async () => {
  const { lookUp, partition } = partitionZero();
  const brokers = new FakeBrokers();
  brokers.makeTopic(topic, 1);
  brokers.nodes.set(1, 'down');
  const cluster = brokers.openCluster();
  const coordinator = new Coordinator(cluster, 'group');
  await assert.rejects(lookUpPositions(cluster, coordinator, [partition]), /COORDINATOR_NOT_AVAIL/);
  assert.equal((await lookUp()).account.tracker.next, 0);
});

describe('what this process finished itself, and could not commit', () => {
  /** It read eight records of epoch 7 from offset 2 on, and finished all but the one at 4. */
  function formerly(changes: { readonly committed?: number; readonly topicId?: string } = {}) {
    const zero = partitionZero();
    zero.log.append(...Array.from({ length: 12 }, (_, value) => value));
    const account = new Account(2, changes.committed ?? 2);
    for (let offset = 2; offset < 10; offset += 1) {
      const slot = account.add(offset, 7, 1, 0);
      if (slot !== undefined && offset !== 4) account.finish(slot);
    }
    const topicId = changes.topicId ?? zero.brokers.topics.get(topic)?.id ?? '';
    const partition = new OwnedPartition(zero.partition, limits, { account, topicId });
    return { ...zero, lookUp: async () => zero.lookUp(partition) };
  }
  /** Of the records from the position on, by the epoch of the leader that wrote them. */
  const comeAgain = (
    { account }: { readonly account: Account },
    offsets = [2, 3, 4, 5, 6, 7, 8, 9, 10],
    epoch = 7,
  ): number[] =>
    offsets.filter(
      (offset) => offset >= account.tracker.next && account.add(offset, epoch, 1, 0) !== undefined,
    );

  test('does not come again', async () => {
    const { commit, lookUp } = formerly();
    commit(2);
    assert.deepEqual(comeAgain(await lookUp()), [4, 10]);
    commit(6);
    assert.deepEqual(comeAgain(await lookUp()), [10]);
  });

  test('nor what others have finished, by what they committed', async () => {
    const { brokers, commit, lookUp } = formerly();
    const ahead = { upTo: 11, unfinished: new Set([6, 7]) };
    const { id: topicId } = brokers.topics.get(topic) ?? {};
    commit(2, encodeCommitMetadata(2, { epoch: 7, ahead, topicId }));
    assert.deepEqual(comeAgain(await lookUp()), []);
    const less = { upTo: 5, unfinished: new Set([2, 4]) };
    commit(2, encodeCommitMetadata(2, { epoch: 7, ahead: less, topicId }));
    assert.deepEqual(comeAgain(await lookUp()), [4, 10]);
  });

  test('comes again where a later leader wrote something else there', async () => {
    const { commit, lookUp } = formerly();
    commit(2);
    assert.deepEqual(comeAgain(await lookUp(), undefined, 8), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test('nor what others have finished under a later leader, which holds longer', async () => {
    const { brokers, commit, lookUp } = formerly();
    const ahead = { upTo: 11, unfinished: new Set([6, 7]) };
    const { id: topicId } = brokers.topics.get(topic) ?? {};
    const { account } = await lookUpAt(8);
    assert.deepEqual(comeAgain({ account }, [2, 3, 4, 5, 6, 7, 8, 9]), []);
    assert.deepEqual([comeAgain({ account }, [10], 8), account.epoch], [[], 8]);
    // The later leader wrote all from 6 on.
    const cutOff = await lookUpAt(8);
    assert.deepEqual(comeAgain(cutOff, [2, 3, 4, 5]), []);
    assert.deepEqual(comeAgain(cutOff, [6, 7, 8, 9, 10], 8), [6, 7]);
    // The other way around, what was finished here holds longer.
    const earlier = await lookUpAt(6);
    assert.deepEqual(comeAgain(earlier, [2, 3, 4], 6), []);
    assert.deepEqual(comeAgain(earlier, [5, 6, 7, 8, 9, 10], 7), [10]);
    const later = await lookUpAt(8);
    assert.deepEqual(comeAgain(later, [2, 3, 4, 5, 6, 7, 8, 9, 10], 9).length, 9);

    async function lookUpAt(epoch: number) {
      commit(2, encodeCommitMetadata(2, { epoch, ahead, topicId }));
      return lookUp();
    }
  });

  test('comes again where the group was set back, or its offsets were deleted', async () => {
    const { commit, lookUp } = formerly({ committed: 3 });
    commit(2);
    assert.deepEqual(comeAgain(await lookUp()).length, 9);
    const without = formerly();
    assert.deepEqual(comeAgain(await without.lookUp()).length, 9);
  });

  test('does not come again where nothing could be committed so far', async () => {
    const { brokers, partition, log, lookUp } = partitionZero();
    log.append('a', 'b');
    const account = new Account(0, undefined);
    account.finish(account.add(0, 0, 1, 0) ?? -1);
    const topicId = brokers.topics.get(topic)?.id ?? '';
    const found = await lookUp(new OwnedPartition(partition, limits, { account, topicId }));
    assert.equal(found.account.add(0, 0, 1, 0), undefined);
    assert.equal(found.account.tracker.finishedUpTo, 1);
  });

  test('comes again where the topic was made again', async () => {
    const { commit, lookUp } = formerly({ topicId: 'another' });
    commit(2);
    assert.deepEqual(comeAgain(await lookUp()).length, 9);
  });
});
