import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodeCommitMetadata } from '../../../src/kafka/consume/commit-metadata.ts';
import type { TopicPartition } from '../../../src/kafka/record.ts';
import { LoopScene, finish, topic, until, valuesOf } from './loop-scene.ts';
import type { Member } from './member.ts';

/** Partitions 0 and 3 have the same leader. */
const partitions = 4;

/** All others are read on, again and again. */
async function othersGoOn(scene: LoopScene, member: Member): Promise<void> {
  for (const round of ['x', 'y', 'z']) {
    for (const partition of [1, 2, 3]) scene.logOf(partition).append(round);
    await until(() => {
      for (const partition of [1, 2, 3]) assert.ok(valuesOf(member, partition).endsWith(round));
    });
  }
}

describe('troubled partitions', { concurrency: true }, () => {
  describe('one partition’s trouble leaves the others alone', { concurrency: true }, () => {
    test('when its leader answers with an error', async (t) => {
      const scene = new LoopScene(t, partitions);
      const member = await scene.joined();
      scene.logOf(0).fetchError = 'KAFKA_STORAGE_ERROR';
      scene.logOf(0).append('a');
      await othersGoOn(scene, member);
      scene.logOf(0).fetchError = undefined;
      await until(() => {
        assert.equal(valuesOf(member, 0), 'a');
      });
    });

    test('when it has no leader, even before anything of it was ever read', async (t) => {
      const scene = new LoopScene(t, partitions);
      scene.logOf(0).lead(-1);
      scene.logOf(0).append('a');
      const assigned: number[] = [];
      const member = scene.member({
        onAssigned: ({ length }) => assigned.push(length),
      });
      await othersGoOn(scene, member);
      assert.deepEqual([assigned.length > 0, valuesOf(member, 0)], [true, '']);
      scene.logOf(0).lead(2);
      await until(() => {
        assert.equal(valuesOf(member, 0), 'a');
        assert.ok(member.loop.joined);
      });
    });

    test('when a batch of it cannot be read, of which somebody is told where it is', async (t) => {
      const scene = new LoopScene(t, partitions);
      scene.logOf(0).append('a', 'b');
      scene.logOf(0).append('c');
      scene.logOf(0).damage(2);
      const member = await scene.joined();
      member.finishes = true;
      await othersGoOn(scene, member);
      await until(() => {
        assert.deepEqual(scene.observed, ['0 unreadable']);
      });
      const [line, ...others] = scene.log.lines.filter(({ level }) => level === 'error');
      assert.match(line?.message ?? '', /a batch of records cannot be read; its partition stops/);
      assert.deepEqual(
        { ...line?.fields, reason: undefined },
        { topic, partition: 0, offset: 2, reason: undefined },
      );
      assert.match(JSON.stringify(line?.fields), /checksum/);
      assert.deepEqual(others, []);
      assert.equal(valuesOf(member, 0), 'a b');
      assert.ok((scene.committed()[0] ?? -1) <= 2);
    });

    test('when it takes long to find out where it goes on', async (t) => {
      const scene = new LoopScene(t, partitions);
      for (const log of scene.logs) log.append('a', 'b');
      const member = await scene.joined();
      await until(() => {
        assert.equal(member.received.length, 2 * partitions);
      });
      const asked = Promise.withResolvers<undefined>();
      scene.brokers.before = ({ api, request }) =>
        api === 'ListOffsets' && 'partitions' in request && String(request.partitions) === '0'
          ? asked.promise
          : undefined;
      scene.logOf(0).cutOff(0);
      await othersGoOn(scene, member);
      asked.resolve(undefined);
      scene.logOf(0).append('c');
      await until(() => {
        assert.equal(valuesOf(member, 0), 'a b c');
      });
    });

    test('when its broker hangs, or is gone', async (t) => {
      const scene = new LoopScene(t, partitions);
      scene.group.coordinator = 2;
      const member = await scene.joined();
      for (const state of ['hangs', 'down'] as const) {
        scene.brokers.nodes.set(1, state);
        for (const value of ['x', 'y', 'z']) {
          for (const partition of [1, 2]) scene.logOf(partition).append(state + value);
          await until(() => {
            for (const partition of [1, 2])
              assert.ok(valuesOf(member, partition).endsWith(state + value));
          });
        }
        scene.brokers.nodes.set(1, 'up');
        scene.logOf(0).append(state);
        await until(() => {
          assert.ok(valuesOf(member, 0).endsWith(state));
        });
      }
      assert.deepEqual([valuesOf(member, 0), member.lost], ['hangs down', []]);
    });
  });

  describe('a position that Kafka no longer has', { concurrency: true }, () => {
    test('behind the log’s start goes to the start, and how many records are gone is said and counted', async (t) => {
      const scene = new LoopScene(t, 1);
      for (const value of 'abcdefg') scene.logOf(0).append(value);
      scene.logOf(0).removeBefore(5);
      scene.group.commits.set(`${topic}/0`, { offset: 1, metadata: '1;0' });
      const member = await scene.joined();
      await until(() => {
        assert.equal(valuesOf(member, 0), 'f g');
      });
      member.finishAll();
      await until(() => {
        assert.deepEqual(scene.committed(), [7]);
      });
      assert.deepEqual(scene.observed, ['0: 4 gone']);
      assert.match(scene.log.visible.join(), /^error: 4 offsets were removed.*"from":1,"to":5/m);
    });

    test('beyond its end goes on at the end, says so, and repeats nothing', async (t) => {
      const scene = new LoopScene(t, 1);
      for (const value of 'abc') scene.logOf(0).append(value);
      scene.group.commits.set(`${topic}/0`, { offset: 50, metadata: '' });
      const member = await scene.joined();
      await until(() => {
        assert.match(scene.log.visible.join(), /^error: the log was cut off.*"from":50,"to":3/m);
      });
      scene.logOf(0).append('d');
      await until(() => {
        assert.equal(valuesOf(member, 0), 'd');
      });
      member.finishAll();
      await until(() => {
        assert.deepEqual(scene.committed(), [4]);
      });
      assert.deepEqual(scene.observed, []);
    });

    test('goes on where the log went another way, where its epoch is known', async (t) => {
      const scene = new LoopScene(t, 1);
      const log = scene.logOf(0);
      for (const value of 'abcd') log.append(value);
      const commit = {
        offset: 4,
        metadata: encodeCommitMetadata(4, { epoch: 0, ahead: undefined, topicId: undefined }),
      };
      scene.group.commits.set(`${topic}/0`, commit);
      log.cutOff(2);
      // As long as what was lost, and longer: the offset alone tells nothing.
      for (const value of 'efgh') log.append(value);
      const member = await scene.joined();
      await until(() => {
        assert.equal(valuesOf(member, 0), 'e f g h');
      });
      assert.match(scene.log.visible.join(), /"from":4,"to":2/);
    });

    test('takes back while it reads what was cut off, and commits from there', async (t) => {
      const scene = new LoopScene(t, 1);
      const log = scene.logOf(0);
      for (const value of 'abcd') log.append(value);
      const member = await scene.joined();
      await until(() => {
        assert.equal(valuesOf(member, 0), 'a b c d');
      });
      finish(member, 0, 'a', 'c', 'd');
      log.cutOff(2);
      log.append('e');
      await until(() => {
        assert.equal(valuesOf(member, 0), 'a b c d e');
      });
      finish(member, 0, 'b');
      await until(() => {
        assert.deepEqual(scene.committed(), [2]);
      });
      finish(member, 0, 'e');
      await until(() => {
        assert.deepEqual(scene.committed(), [3]);
      });
    });

    test('leaves out nothing that a later leader wrote in the place of what was finished there', async (t) => {
      const scene = new LoopScene(t, 1);
      const log = scene.logOf(0);
      for (const value of 'abcd') log.append(value);
      const ahead = { upTo: 4, unfinished: new Set([2]) };
      const metadata = encodeCommitMetadata(2, { epoch: 0, ahead, topicId: undefined });
      scene.group.commits.set(`${topic}/0`, { offset: 2, metadata });
      log.cutOff(2);
      // All that the later leader shows of itself to the first member.
      log.appendMarker();
      const first = await scene.joined();
      await until(() => {
        assert.deepEqual(scene.committed(), [3]);
      });
      await first.loop.stop(0);
      log.append('e');
      const second = await scene.joined();
      await until(() => {
        assert.equal(valuesOf(second, 0), 'e');
      });
    });

    test('leaves out nothing of that either where the group goes on without a member twice before that one reads anything', async (t) => {
      const scene = new LoopScene(t, 1);
      const log = scene.logOf(0);
      let onExpelled = (): unknown => undefined;
      const member = await scene.joined({ onExpelled: () => onExpelled() });
      for (const value of 'abcdef') log.append(value);
      await until(() => {
        assert.equal(valuesOf(member, 0), 'a b c d e f');
      });
      finish(member, 0, 'b', 'c', 'd', 'e', 'f');
      scene.brokers.before = ({ api }) => {
        if (api === 'Fetch') throw new Error('it is lost');
      };
      /** Somebody else has read so far meanwhile. */
      const goOnWithout = async (offset: number): Promise<void> => {
        const metadata = encodeCommitMetadata(offset, {
          epoch: 1,
          ahead: undefined,
          topicId: undefined,
        });
        scene.group.commits.set(`${topic}/0`, { offset, metadata });
        const times = member.lost.length;
        scene.group.remove(scene.group.memberIds[0] ?? '');
        await until(() => {
          assert.deepEqual([member.lost.length, member.loop.joined], [times + 1, true]);
        });
      };
      onExpelled = () => {
        onExpelled = () => undefined;
        log.cutOff(1);
        for (const value of 'ghijklmn') log.append(value);
      };
      await goOnWithout(2);
      await goOnWithout(3);
      scene.brokers.before = () => undefined;
      await until(() => {
        assert.equal(valuesOf(member, 0), 'a b c d e f i j k l m n');
      });
    });

    test('says nothing of a topic that was made again, which is read from its beginning', async (t) => {
      const scene = new LoopScene(t, 2);
      for (const log of scene.logs) log.append('a', 'b');
      const member = await scene.joined();
      await until(() => {
        assert.equal(member.received.length, 4);
      });
      const former = [...member.received];
      for (const record of former.slice(1)) record.finish();
      await until(() => {
        assert.deepEqual(scene.committed().toSorted(), [0, 2]);
      });
      const again = scene.brokers.makeTopic(topic, 2);
      for (const log of again) log.append('c', 'd', 'e');
      await until(() => {
        for (const partition of [0, 1]) assert.equal(valuesOf(member, partition), 'a b c d e');
      });
      assert.deepEqual(member.lost.toSorted(), [`${topic}/0`, `${topic}/1`]);
      // Those of the former topic say nothing of this one.
      for (const record of former) record.finish();
      await until(() => {
        assert.deepEqual(scene.committed(), [0, 0]);
      });
      assert.match(scene.log.visible.join(), /^warn: a topic was deleted and created again/m);
    });

    test('is not what a member commits of the former topic while its partition moves', async (t) => {
      const scene = new LoopScene(t, 2);
      for (const log of scene.logs) log.append('a', 'b', 'c');
      const revoked: TopicPartition[] = [];
      const member = await scene.joined({ onRevoked: (gone) => revoked.push(...gone) });
      await until(() => {
        assert.equal(member.received.length, 6);
      });
      const other = scene.member();
      await until(() => {
        assert.equal(revoked.length, 1);
      });
      const moves = revoked[0]?.partition ?? -1;
      for (const log of scene.brokers.makeTopic(topic, 2)) log.append('d', 'e', 'f', 'g');
      for (const record of member.received) if (record.partition === moves) record.finish();
      await until(() => {
        assert.equal(valuesOf(other, moves), 'd e f g');
      });
    });

    test('is not settled by a topic that is gone, and others are read meanwhile', async (t) => {
      const scene = new LoopScene(t, 1);
      const [other] = scene.brokers.makeTopic('other', 1);
      const member = await scene.joined({ topics: [topic, 'other'] });
      scene.logOf(0).append('a');
      await until(() => {
        assert.equal(member.received.length, 1);
      });
      member.finishAll();
      scene.brokers.deleteTopic(topic);
      await until(() => {
        assert.deepEqual(member.owns(), ['other/0']);
      });
      other?.append('x');
      await until(() => {
        assert.equal(member.received.length, 2);
      });
      const [again] = scene.brokers.makeTopic(topic, 1);
      again?.append('b');
      await until(() => {
        assert.deepEqual(
          member.received.map(({ value }) => String(value)),
          ['a', 'x', 'b'],
        );
      });
    });
  });
});
