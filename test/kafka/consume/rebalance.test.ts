import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeCommitMetadata } from '../../../src/kafka/consume/commit-metadata.ts';
import {
  assignIndices,
  decodeWishes,
  encodeAssignment,
  encodeWishes,
} from '../../../src/kafka/consume/assigner.ts';
import type { TopicPartition } from '../../../src/kafka/record.ts';
import { LoopScene, finish, topic, until, valuesOf } from './loop-scene.ts';

const names = (partitions: readonly TopicPartition[]): string =>
  partitions.map(({ partition }) => partition).join();

describe('when members come and go', { concurrency: true }, () => {
  test('a partition that stays is read on while others move, however long what is under way there takes', async (t) => {
    const scene = new LoopScene(t, 2);
    const first = await scene.joined();
    for (const log of scene.logs) log.append('a', 'b');
    await until(() => {
      assert.equal(first.received.length, 4);
    });
    const second = scene.member();
    await until(() => {
      assert.deepEqual(second.loop.joined, true);
    });
    // Partition 1 is to move, and what is under way there does not end.
    for (let value = 1; value <= 20; value += 1) {
      scene.logOf(0).append(value);
      await until(() => {
        assert.equal(first.received.length, 4 + value);
      });
    }
    assert.deepEqual([second.received.length, first.lost], [0, []]);
    first.finishAll();
    scene.logOf(1).append('c');
    await until(() => {
      assert.equal(valuesOf(second, 1), 'c');
    });
    assert.deepEqual(first.lost, [`${topic}/1`]);
  });

  test('a partition is let go of in order: what waits is released, what is under way ends, and is committed, and then somebody else reads it', async (t) => {
    const scene = new LoopScene(t, 2);
    const events: string[] = [];
    const first = scene.member({
      onAssigned: (partitions) => events.push(`assigned ${names(partitions)}`),
      onRevoked: (partitions) => events.push(`revoked ${names(partitions)}`),
      onLost: (partitions) => {
        const { offset, metadata = '' } = scene.group.commits.get(`${topic}/1`) ?? {};
        const { ahead } = decodeCommitMetadata(offset ?? -1, metadata);
        events.push(`lost ${names(partitions)}, committed ${offset} and up to ${ahead?.upTo}`);
      },
    });
    scene.logOf(1).append('a', 'b', 'c', 'd', 'e', 'f');
    await until(() => {
      assert.equal(valuesOf(first, 1), 'a b c d e f');
    });
    // d is finished before the partition is to move, f while it does; c and e are released.
    finish(first, 1, 'd');
    const second = scene.member();
    await until(() => {
      assert.ok(events.includes('revoked 1'));
    });
    for (const record of first.received)
      if (['c', 'e'].includes(String(record.value))) record.release();
    finish(first, 1, 'a');
    assert.equal(second.received.length, 0);
    finish(first, 1, 'b', 'f');
    await until(() => {
      assert.equal(valuesOf(second, 1), 'c e');
    });
    assert.deepEqual(events, [
      'assigned 0,1',
      'revoked 1',
      'assigned 0',
      'lost 1, committed 2 and up to 6',
      'assigned 0',
    ]);
    second.finishAll();
    await until(() => {
      assert.deepEqual(scene.committed(), [0, 6]);
    });
  });

  test('what is finished at the last moment is not repeated, although no regular commit came', async (t) => {
    const scene = new LoopScene(t, 2);
    const stoppedClock = { now: () => Date.now(), after: () => ({ cancel: () => undefined }) };
    const first = await scene.joined({ clock: stoppedClock });
    for (const log of scene.logs) log.append('a', 'b');
    await until(() => {
      assert.equal(first.received.length, 4);
    });
    first.finishAll();
    const second = scene.member();
    await until(() => {
      assert.equal(second.owns().length, 1);
    });
    scene.logOf(1).append('c');
    await until(() => {
      assert.equal(valuesOf(second, 1), 'c');
    });
  });

  test('what ends between the answers to a join and to its sync is committed, and not repeated', async (t) => {
    const scene = new LoopScene(t, 4);
    const first = await scene.joined();
    for (const log of scene.logs) log.append('a', 'b');
    await until(() => {
      assert.equal(first.received.length, 8);
    });
    for (const partition of [0, 1, 2, 3]) finish(first, partition, 'a');
    await until(() => {
      assert.deepEqual(scene.committed(), [1, 1, 1, 1]);
    });
    // Two partitions are to move, as soon as what is under way of them has ended.
    const second = scene.member();
    await until(() => {
      assert.deepEqual([second.loop.joined, scene.group.isStable], [true, true]);
    });
    const { group } = scene;
    const sync = group.sync.bind(group);
    const leader = group.leaderId;
    let hasEnded = false;
    t.mock.method(group, 'sync', (request: Parameters<typeof sync>[0]) => {
      if (request.memberId === leader && !hasEnded) {
        hasEnded = true;
        for (const partition of [0, 1, 2, 3]) finish(first, partition, 'b');
      }
      return sync(request);
    });
    const third = scene.member();
    for (const each of [second, third]) each.finishes = true;
    await until(() => {
      assert.deepEqual([hasEnded, scene.committed()], [true, [2, 2, 2, 2]]);
    });
    for (const log of scene.logs) log.append('c');
    const others = (): string[] =>
      [second, third].flatMap(({ received }) => received.map(({ value }) => String(value)));
    await until(() => {
      finish(first, 0, 'c');
      finish(first, 1, 'c');
      const own = first.received.filter(({ value }) => String(value) === 'c');
      assert.equal(own.length + others().length, 4);
    });
    assert.deepEqual(new Set(others()), new Set(['c']));
  });

  test('members that join one after the other end with even shares, and nobody repeats anything', async (t) => {
    const scene = new LoopScene(t, 6);
    const members = [await scene.joined()];
    for (const member of members) member.finishes = true;
    let value = 0;
    const write = (): void => {
      for (const log of scene.logs) log.append(value++);
    };
    for (let count = 2; count <= 3; count += 1) {
      const next = scene.member();
      next.finishes = true;
      members.push(next);
      await until(() => {
        write();
        const owned = members.map((member) => member.owns().length);
        assert.deepEqual(owned, Array(count).fill(6 / count));
      });
    }
    await until(() => {
      assert.equal(members.flatMap((member) => member.received).length, value);
    });
    const [, leaver] = members;
    await leaver?.loop.stop(5_000);
    write();
    await until(() => {
      assert.equal(members.flatMap((member) => member.received).length, value);
    });
    const seen = members.flatMap((member) => member.values());
    assert.equal(new Set(seen).size, value);
    await until(() => {
      assert.deepEqual(
        scene.committed(),
        scene.logs.map(({ end }) => end),
      );
    });
  });

  test('a member whose session was over goes on without a repeat if nobody read its partitions', async (t) => {
    const scene = new LoopScene(t, 1);
    const member = await scene.joined();
    scene.logOf(0).append('a', 'b', 'c');
    await until(() => {
      assert.equal(member.received.length, 3);
    });
    finish(member, 0, 'a');
    await until(() => {
      assert.deepEqual(scene.committed(), [1]);
    });
    scene.group.remove(scene.group.memberIds[0] ?? '');
    await until(() => {
      assert.equal(member.loop.joined, false);
    });
    scene.logOf(0).append('d');
    await until(() => {
      assert.equal(valuesOf(member, 0), 'a b c d');
    });
    member.finishAll();
    await until(() => {
      assert.deepEqual([scene.committed(), member.lost], [[4], []]);
    });
  });

  test('it drops what it had if somebody did, and goes on where that one committed', async (t) => {
    const scene = new LoopScene(t, 1);
    const member = await scene.joined();
    scene.logOf(0).append('a', 'b', 'c');
    await until(() => {
      assert.equal(member.received.length, 3);
    });
    await until(() => {
      assert.deepEqual(scene.committed(), [0]);
    });
    scene.group.commits.set(`${topic}/0`, { offset: 2, metadata: '' });
    scene.group.remove(scene.group.memberIds[0] ?? '');
    await until(() => {
      assert.deepEqual(member.lost, [`${topic}/0`]);
      assert.equal(valuesOf(member, 0), 'a b c c');
    });
    finish(member, 0, 'a');
    finish(member, 0, 'b');
    finish(member, 0, 'c');
    await until(() => {
      assert.deepEqual(scene.committed(), [3]);
    });
  });

  test('the partitions of a member that died are read from its last commit', async (t) => {
    const scene = new LoopScene(t, 2);
    const first = await scene.joined();
    const second = scene.member();
    await until(() => {
      assert.deepEqual([first.owns().length, second.owns().length], [1, 1]);
    });
    const [own] = second.loop.assigned();
    const partition = own?.partition ?? -1;
    scene.logOf(partition).append('a', 'b', 'c');
    await until(() => {
      assert.equal(valuesOf(second, partition), 'a b c');
    });
    finish(second, partition, 'a', 'c');
    await until(() => {
      assert.equal(scene.committed()[partition], 1);
    });
    // It takes part in nothing any more, and its session ends.
    const [, dead = ''] = scene.group.memberIds;
    scene.brokers.before = ({ request }) => {
      if ('memberId' in request && request.memberId === dead) throw new Error('it is dead');
    };
    scene.group.remove(dead);
    await until(() => {
      assert.equal(valuesOf(first, partition), 'b');
    });
  });

  test('where a member of a former release takes part, what moves is given up at once', async (t) => {
    const scene = new LoopScene(t, 2);
    const events: string[] = [];
    const first = await scene.joined({
      onRevoked: (partitions) => events.push(`revoked ${names(partitions)}`),
      onLost: (partitions) => events.push(`lost ${names(partitions)}`),
    });
    for (const log of scene.logs) log.append('a');
    await until(() => {
      assert.equal(first.received.length, 2);
    });
    const metadata = encodeWishes({ topics: [topic], owned: [] });
    const groupProtocols = [{ name: 'same-index', metadata }];
    const { memberId } = await scene.group.join({ memberId: '', groupProtocols });
    const joined = scene.group.join({ memberId, groupProtocols });
    void joined.then(({ generation: generationId }) =>
      scene.group.sync({ memberId, generationId, groupAssignment: [] }),
    );
    await until(() => {
      assert.deepEqual(events, ['revoked 1', 'lost 1']);
    });
    assert.deepEqual(first.owns(), [`${topic}/0`]);
    // What the former release knows, and what this one tells it, is understood by both.
    const told = decodeWishes(metadata);
    assert.deepEqual(told, { topics: [topic], owned: [], parts: undefined });
    const shares = assignIndices(2, [{ memberId, ...told }], 'same-index');
    assert.ok(encodeAssignment(shares.get(memberId) ?? [], new Map([[topic, 2]])).length > 0);
  });
});
