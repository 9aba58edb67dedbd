import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { encodeWishes } from '../../../src/kafka/consume/assigner.ts';
import { Membership } from '../../../src/kafka/consume/membership.ts';
import { eventually } from '../../harness/eventually.ts';
import { codeOf } from '../../harness/kafka/ask-group.ts';
import { FakeBrokers } from '../fake-brokers.ts';
import { FakeLogger } from '../fake-logger.ts';

const groupId = 'group';

interface Told {
  readonly partitions: readonly string[];
  readonly isCooperative: boolean;
}

/** A member of a group, which owns whatever it was assigned last. */
function member(t: TestContext, brokers: FakeBrokers, topics: readonly string[] = ['calls']) {
  const stopping = new AbortController();
  const assigned: Told[] = [];
  const log = new FakeLogger();
  const troubles: string[] = [];
  const refusals: string[] = [];
  let owned: readonly number[] = [];
  let expelled = 0;
  const unheard: boolean[] = [];
  const [joinCluster, cluster] = [brokers.openCluster(), brokers.openCluster()];
  const membership = new Membership({
    joinCluster,
    cluster,
    groupId,
    topics,
    log,
    signal: stopping.signal,
    ownedIndices: () => owned,
    assigned: (partitions, isCooperative) => {
      owned = [...new Set(partitions.map(({ partition }) => partition))];
      const names = partitions.map(({ topic, partition }) => `${topic}/${partition}`);
      assigned.push({ partitions: names.toSorted(), isCooperative });
    },
    expelled: () => {
      expelled += 1;
      owned = [];
    },
    unheard: (isUnheard) => unheard.push(isUnheard),
    troubled: ({ message }) => troubles.push(message),
    refused: ({ message }) => refusals.push(message),
  });
  membership.start();
  const stop = async (): Promise<void> => {
    stopping.abort();
    const before = brokers.group(groupId).memberIds.length;
    const left = membership.leave();
    // One that waits for others to join is out of the group before it hears of it.
    await Promise.race([left, eventuallyFewer(brokers, before)]);
    for (const each of [joinCluster, cluster]) each.close();
    await left;
  };
  t.after(stop);
  return {
    membership,
    assigned,
    log,
    troubles,
    refusals,
    stop,
    expelled: () => expelled,
    unheard,
    /** What it was assigned last. */
    partitions: () => assigned.at(-1)?.partitions,
    /** Gives all up, as if it had let go of them. */
    letGo: (indices: readonly number[]) => {
      owned = owned.filter((index) => !indices.includes(index));
      membership.rejoin();
    },
  };
}

async function eventuallyFewer(brokers: FakeBrokers, members: number): Promise<void> {
  await eventually(() => {
    assert.ok(brokers.group(groupId).memberIds.length < members);
  }, 3_000).catch(() => undefined);
}

function brokersWith(topics: Readonly<Record<string, number>>): FakeBrokers {
  const brokers = new FakeBrokers(3);
  for (const [topic, partitions] of Object.entries(topics)) brokers.makeTopic(topic, partitions);
  return brokers;
}

async function until(check: () => void): Promise<void> {
  await eventually(check, 10_000);
}

/** Somebody else in the group, whom the test plays. */
async function other(brokers: FakeBrokers, protocol: string): Promise<string> {
  const group = brokers.group(groupId);
  const metadata = encodeWishes({ topics: ['calls'], owned: [] });
  const groupProtocols = [{ name: protocol, metadata }];
  const { memberId } = await group.join({ memberId: '', groupProtocols });
  void group
    .join({ memberId, groupProtocols })
    .then(({ generation: generationId }) =>
      group.sync({ memberId, generationId, groupAssignment: [] }),
    );
  return memberId;
}

describe('a member of a group', { concurrency: true }, () => {
  test('is assigned all that there is when it is alone', async (t) => {
    const brokers = brokersWith({ calls: 3, retry: 2 });
    const { partitions, assigned } = member(t, brokers, ['calls', 'retry']);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0', 'calls/1', 'calls/2', 'retry/0', 'retry/1']);
    });
    assert.deepEqual(
      assigned.map(({ isCooperative }) => isCooperative),
      [true],
    );
    assert.ok(brokers.group(groupId).isStable);
  });

  test('leaves a coordinator that was replaced and has not heard of it for the one it has joined with', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const group = brokers.group(groupId);
    const open = brokers.openCluster.bind(brokers);
    let opened = 0;
    brokers.openCluster = () => {
      const cluster = open();
      opened += 1;
      // Whom it asks for the coordinator has lost touch too.
      if (opened === 2) cluster.findCoordinator = () => Promise.resolve(1);
      return cluster;
    };
    const { partitions, expelled } = member(t, brokers);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    const coordinate = brokers.coordinate.bind(brokers);
    brokers.coordinate = (nodeId, api, request) =>
      nodeId === 1 && api === 'Heartbeat'
        ? Promise.resolve({ errorCode: codeOf('ILLEGAL_GENERATION') })
        : coordinate(nodeId, api, request);
    group.coordinator = 2;
    await until(() => {
      const heard = brokers.asked.filter(({ api, nodeId }) => api === 'Heartbeat' && nodeId === 2);
      assert.ok(heard.length >= 2 || expelled() > 1);
    });
    assert.deepEqual([expelled(), group.generation], [1, 2]);
  });

  test('knows when its session must be over although nobody says so, and that it was not when it is heard again', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { partitions, unheard, expelled } = member(t, brokers);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    const { generation } = brokers.group(groupId);
    brokers.group(groupId).heartbeatError = 'COORDINATOR_LOAD_IN_PROGRESS';
    const fromMs = performance.now();
    await until(() => {
      assert.deepEqual(unheard, [true]);
    });
    assert.ok(performance.now() - fromMs > 8_000, 'its session lasts for 10 s');
    brokers.group(groupId).heartbeatError = undefined;
    await until(() => {
      assert.deepEqual(unheard, [true, false]);
    });
    assert.deepEqual([expelled(), brokers.group(groupId).generation], [0, generation]);
  });

  test('reads what is missing as soon as it is there, and says once that it is not', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { partitions, log } = member(t, brokers, ['calls', 'late']);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    brokers.makeTopic('late', 2);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0', 'late/0', 'late/1']);
    });
    assert.equal(log.visible.length, 1);
    assert.match(log.visible.join(), /^warn: these topics do not exist.*"late"/);
  });

  test('reads partitions that are added', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { partitions } = member(t, brokers);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    brokers.addPartitions('calls', 3);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0', 'calls/1', 'calls/2']);
    });
  });

  test('reads a topic that only another member knows', async (t) => {
    const brokers = brokersWith({ calls: 2, added: 2 });
    const first = member(t, brokers, ['calls']);
    await until(() => {
      assert.equal(first.partitions()?.length, 2);
    });
    const second = member(t, brokers, ['calls', 'added']);
    await until(() => {
      assert.deepEqual(first.partitions(), ['added/0', 'calls/0']);
    });
    first.letGo([]);
    await until(() => {
      assert.deepEqual(second.partitions(), ['added/1', 'calls/1']);
    });
  });

  test('goes on with what it has when its coordinator moves, without joining again', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { membership, assigned, partitions, expelled } = member(t, brokers);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    const group = brokers.group(groupId);
    group.coordinator = 2;
    const before = brokers.asked.length;
    const commit = { topic: 'calls', partition: 0, offset: 1, metadata: '' };
    await until(() => {
      const beats = brokers.asked
        .slice(before)
        .filter(({ api, nodeId }) => api === 'Heartbeat' && nodeId === 2);
      assert.ok(beats.length > 0);
    });
    assert.equal((await membership.commit([commit]))[0]?.error, 'NONE');
    assert.equal(group.commits.get('calls/0')?.offset, 1);
    assert.deepEqual([assigned.length, expelled(), group.rebalances], [1, 0, 1]);
  });

  test('finds its coordinator anew when a commit is refused by the former one', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { membership, partitions } = member(t, brokers);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    const commit = { topic: 'calls', partition: 0, offset: 1, metadata: '' };
    const errors = [];
    for (const coordinator of [1, 3, 3]) {
      brokers.group(groupId).coordinator = coordinator;
      errors.push((await membership.commit([commit]))[0]?.error);
    }
    assert.deepEqual(errors, ['NONE', 'NOT_COORDINATOR', 'NONE']);
  });

  test('that the group has forgotten drops its claims and joins as a new one', async (t) => {
    const brokers = brokersWith({ calls: 2 });
    const { partitions, assigned, expelled } = member(t, brokers);
    await until(() => {
      assert.equal(partitions()?.length, 2);
    });
    const group = brokers.group(groupId);
    const [former = ''] = group.memberIds;
    group.remove(former);
    await until(() => {
      assert.equal(assigned.length, 2);
    });
    assert.equal(expelled(), 1);
    assert.notDeepEqual(group.memberIds, [former]);
  });

  test('that missed a rebalance joins again as who it is', async (t) => {
    const brokers = brokersWith({ calls: 2 });
    const { partitions, assigned, expelled } = member(t, brokers);
    await until(() => {
      assert.equal(partitions()?.length, 2);
    });
    const group = brokers.group(groupId);
    const before = group.memberIds;
    group.skipGeneration();
    await until(() => {
      assert.equal(assigned.length, 2);
    });
    assert.equal(expelled(), 1);
    assert.deepEqual(group.memberIds, before);
  });

  test('whose commit is refused as stale finds out at once', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { membership, partitions, expelled, assigned } = member(t, brokers);
    await until(() => {
      assert.equal(partitions()?.length, 1);
    });
    const commit = { topic: 'calls', partition: 0, offset: 1, metadata: '' };
    const tookMs: number[] = [];
    for (const times of [1, 2, 3]) {
      brokers.group(groupId).skipGeneration();
      const startMs = performance.now();
      const [answer] = await membership.commit([commit]);
      assert.equal(answer?.error, 'ILLEGAL_GENERATION');
      await until(() => {
        assert.equal(expelled(), times);
      });
      tookMs.push(performance.now() - startMs);
      await until(() => {
        assert.equal(assigned.length, times + 1);
      });
    }
    // By a heartbeat, which comes each second, it takes half of one on average.
    assert.ok(Math.min(...tookMs) < 400, tookMs.join());
  });

  test('joins again when others come or go while it waits for its assignment', async (t) => {
    const brokers = brokersWith({ calls: 2 });
    const group = brokers.group(groupId);
    group.syncError = 'REBALANCE_IN_PROGRESS';
    const { partitions, assigned, expelled } = member(t, brokers);
    await until(() => {
      assert.equal(partitions()?.length, 2);
    });
    // Nobody has said meanwhile that it has nothing to read.
    assert.deepEqual([assigned.length, expelled()], [1, 0]);
    assert.ok(brokers.count('SyncGroup') >= 2);
  });

  test('notices within a heartbeat that another one has come, and shares with it', async (t) => {
    const brokers = brokersWith({ calls: 4 });
    const first = member(t, brokers);
    await until(() => {
      assert.equal(first.partitions()?.length, 4);
    });
    const second = member(t, brokers);
    await until(() => {
      assert.deepEqual(first.partitions(), ['calls/0', 'calls/1']);
      assert.deepEqual(second.partitions(), []);
    });
    first.letGo([]);
    await until(() => {
      assert.deepEqual(second.partitions(), ['calls/2', 'calls/3']);
    });
    await second.stop();
    await until(() => {
      assert.equal(first.partitions()?.length, 4);
    });
    assert.equal(first.expelled(), 0);
  });

  test('commits while it waits for the others to join', async (t) => {
    const brokers = brokersWith({ calls: 2 });
    const { membership, partitions } = member(t, brokers);
    await until(() => {
      assert.equal(partitions()?.length, 2);
    });
    const group = brokers.group(groupId);
    // Two come, of whom one never joins: the rebalance lasts until its session is over.
    const late = await other(brokers, 'same-index.cooperative');
    await until(() => {
      assert.ok(group.memberIds.includes(late));
    });
    brokers.before = ({ api }) =>
      api === 'JoinGroup' ? Promise.withResolvers().promise : undefined;
    const commit = { topic: 'calls', partition: 0, offset: 5, metadata: '' };
    await until(() => {
      assert.ok(brokers.count('JoinGroup') > 2);
    });
    const [answer] = await membership.commit([commit]);
    assert.equal(answer?.error, 'NONE');
  });

  test('hands over at once where a member of a former release takes part', async (t) => {
    const brokers = brokersWith({ calls: 2 });
    const { assigned } = member(t, brokers);
    await until(() => {
      assert.equal(assigned.length, 1);
    });
    const former = await other(brokers, 'same-index');
    await until(() => {
      assert.deepEqual(assigned.at(-1), { partitions: ['calls/0'], isCooperative: false });
    });
    brokers.group(groupId).remove(former);
    await until(() => {
      assert.deepEqual(assigned.at(-1), {
        partitions: ['calls/0', 'calls/1'],
        isCooperative: true,
      });
    });
  });

  test('takes nothing away on the word of one broker that has just started', async (t) => {
    const brokers = brokersWith({ calls: 2, retry: 2 });
    const { partitions, membership, assigned } = member(t, brokers, ['calls', 'retry']);
    await until(() => {
      assert.equal(partitions()?.length, 4);
    });
    let forgets = 1;
    brokers.before = ({ api }) => {
      if (api !== 'Metadata') return;
      if (forgets-- > 0) brokers.topicErrors.set('retry', 'UNKNOWN_TOPIC_OR_PARTITION');
      else brokers.topicErrors.clear();
    };
    membership.rejoin();
    await until(() => {
      assert.equal(assigned.length, 2);
    });
    assert.equal(partitions()?.length, 4);
  });

  test('gives up a topic that is gone', async (t) => {
    const brokers = brokersWith({ calls: 2, goes: 2 });
    const { partitions } = member(t, brokers, ['calls', 'goes']);
    await until(() => {
      assert.equal(partitions()?.length, 4);
    });
    brokers.deleteTopic('goes');
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0', 'calls/1']);
    });
  });

  test('leaves when it stops, so that others need not wait for its session’s end', async (t) => {
    const brokers = brokersWith({ calls: 2 });
    const { partitions, stop } = member(t, brokers);
    await until(() => {
      assert.equal(partitions()?.length, 2);
    });
    await stop();
    assert.deepEqual(brokers.group(groupId).memberIds, []);
  });

  test('that is stopped while it joins leaves too, and is assigned nothing', async (t) => {
    const brokers = brokersWith({ calls: 2 });
    await other(brokers, 'same-index.cooperative');
    const group = brokers.group(groupId);
    await until(() => {
      assert.equal(group.memberIds.length, 1);
    });
    // The other one does not join again, so this one waits.
    const { assigned, stop } = member(t, brokers);
    await until(() => {
      assert.equal(group.memberIds.length, 2);
    });
    await stop();
    assert.deepEqual([group.memberIds.length, assigned.length], [1, 0]);
  });

  test('that is stopped before the group knows it leaves nothing', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    brokers.group(groupId).joinError = 'COORDINATOR_LOAD_IN_PROGRESS';
    const { troubles, stop } = member(t, brokers);
    await until(() => {
      assert.ok(troubles.length > 0);
    });
    await stop();
    assert.equal(brokers.count('LeaveGroup'), 0);
  });

  for (const [what, set] of [
    ['find its coordinator', (brokers: FakeBrokers) => (brokers.group(groupId).findError = denied)],
    ['join', (brokers: FakeBrokers) => (brokers.group(groupId).joinError = denied)],
  ] as const)
    test(`that has no right to ${what} says so`, async (t) => {
      const brokers = brokersWith({ calls: 1 });
      set(brokers);
      const { refusals } = member(t, brokers);
      await until(() => {
        assert.match(refusals.join(), /group group: GROUP_AUTHORIZATION_FAILED/);
      });
    });

  test('whose right to the group is taken away asks with growing pauses, and goes on with it', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { refusals, partitions, log } = member(t, brokers);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    brokers.group(groupId).heartbeatError = denied;
    await until(() => {
      const said = log.visible.filter((line) => line.includes('ACLs refuse'));
      assert.deepEqual(
        said.slice(0, 2).map((line) => /asking again in \d s/.exec(line)?.[0]),
        ['asking again in 1 s', 'asking again in 2 s'],
      );
    });
    brokers.group(groupId).heartbeatError = undefined;
    const asked = brokers.count('Heartbeat');
    await until(() => {
      assert.ok(brokers.count('Heartbeat') > asked + 1);
    });
    assert.deepEqual([refusals, partitions()], [[], ['calls/0']]);
  });

  test('whose right to the group is taken away is in trouble, for whoever counts that', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { partitions, troubles } = member(t, brokers);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    brokers.group(groupId).heartbeatError = denied;
    await until(() => {
      assert.match(troubles.join(), /group group: GROUP_AUTHORIZATION_FAILED/);
    });
  });

  test('whose right to the group is taken away for the second time asks as soon again as after the first', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { partitions, log } = member(t, brokers);
    const pauses = (): (string | undefined)[] =>
      log.visible.map((line) => /asking again in \d+ s/.exec(line)?.[0]);
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
    brokers.group(groupId).heartbeatError = denied;
    await until(() => {
      assert.deepEqual(pauses(), ['asking again in 1 s']);
    });
    brokers.group(groupId).heartbeatError = undefined;
    const asked = brokers.count('Heartbeat');
    await until(() => {
      assert.ok(brokers.count('Heartbeat') > asked + 1);
    });
    brokers.group(groupId).heartbeatError = denied;
    await until(() => {
      assert.deepEqual(pauses(), ['asking again in 1 s', 'asking again in 1 s']);
    });
  });

  test('whose right to a topic is taken away says so, and keeps its partitions', async (t) => {
    const brokers = brokersWith({ calls: 1, secret: 1 });
    const { refusals, assigned, log } = member(t, brokers, ['calls', 'secret']);
    await until(() => {
      assert.equal(assigned.length, 1);
    });
    brokers.topicErrors.set('secret', 'TOPIC_AUTHORIZATION_FAILED');
    await until(() => {
      assert.match(log.visible.join('\n'), /^error: Kafka's ACLs hide this topic.*"secret"/m);
    });
    assert.deepEqual([refusals, assigned.length], [[], 1]);
  });

  test('that has no right to a topic says so, and not that there is none', async (t) => {
    const brokers = brokersWith({ calls: 1, secret: 1 });
    brokers.topicErrors.set('secret', 'TOPIC_AUTHORIZATION_FAILED');
    const { refusals } = member(t, brokers, ['calls', 'secret']);
    await until(() => {
      assert.match(refusals.join(), /topic secret: TOPIC_AUTHORIZATION_FAILED/);
    });
  });

  test('goes on asking while no broker is there, and joins when they are back', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    for (const nodeId of [1, 2, 3]) brokers.nodes.set(nodeId, 'down');
    const { troubles, partitions, log } = member(t, brokers);
    await until(() => {
      assert.match(log.visible.join(), /^warn: the group cannot be reached.*"group"/);
    });
    assert.ok(troubles.length >= 2);
    for (const nodeId of [1, 2, 3]) brokers.nodes.set(nodeId, 'up');
    await until(() => {
      assert.deepEqual(partitions(), ['calls/0']);
    });
  });

  test('looks for another coordinator when the one that it has hangs', async (t) => {
    const brokers = brokersWith({ calls: 1 });
    const { partitions, expelled, assigned } = member(t, brokers);
    await until(() => {
      assert.equal(partitions()?.length, 1);
    });
    brokers.nodes.set(1, 'hangs');
    brokers.group(groupId).coordinator = 2;
    const before = brokers.asked.length;
    await until(() => {
      const beats = brokers.asked
        .slice(before)
        .filter(({ api, nodeId }) => api === 'Heartbeat' && nodeId === 2);
      assert.ok(beats.length > 0);
    });
    assert.deepEqual([expelled(), assigned.length], [0, 1]);
  });
});

const denied = 'GROUP_AUTHORIZATION_FAILED' as const;
