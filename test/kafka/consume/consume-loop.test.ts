import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { decodeCommitMetadata } from '../../../src/kafka/consume/commit-metadata.ts';
import { oldestByTopic } from '../../../src/kafka/consume/consume-metrics.ts';
import { encodeBatch } from '../../../src/kafka/protocol/batch-writer.ts';
import { uncompressed } from '../uncompressed.ts';
import { LoopScene, finish, topic, until, valuesOf } from './loop-scene.ts';
import { numbers } from './member.ts';

interface OffsetFetchAnswer {
  readonly responses: readonly {
    readonly topic: string;
    readonly partitions: readonly { errorCode: number }[];
  }[];
}

describe('a consume loop', { concurrency: true }, () => {
  test('reads all partitions from their beginning, and goes on where it committed', async (t) => {
    const scene = new LoopScene(t, 3);
    for (const [i, log] of scene.logs.entries()) log.append(i, i + 10);
    const first = await scene.joined();
    await until(() => {
      assert.deepEqual(first.values(), [0, 1, 2, 10, 11, 12]);
    });
    for (const record of first.received.filter(({ offset }) => offset === 0)) record.finish();
    await until(() => {
      assert.deepEqual(scene.committed(), [1, 1, 1]);
    });
    await first.loop.stop(0);
    const second = await scene.joined();
    await until(() => {
      assert.deepEqual(second.values(), [10, 11, 12]);
    });
  });

  test('that is stopped has first what waits released, commits, and then says that others have all', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.logOf(0).append('ended', 'ends', 'waits');
    const told: string[] = [];
    const member = await scene.joined({
      onRevoked: () => {
        told.push('revoked');
        finish(member, 0, 'ends');
        member.received[2]?.release();
      },
      onLost: () => told.push(`lost at ${scene.committed().join()}`),
    });
    await until(() => {
      assert.equal(valuesOf(member, 0), 'ended ends waits');
    });
    finish(member, 0, 'ended');
    await member.loop.stop(20_000);
    assert.deepEqual(told, ['revoked', 'lost at 2']);
    assert.deepEqual(member.loop.assigned(), []);
  });

  test('counts headers as well, where it waits for what it has read', async (t) => {
    const scene = new LoopScene(t, 1);
    const headers = { id: 'i'.repeat(1_000) };
    const records = Array.from({ length: 100 }, () => ({ key: 'k', value: 'v', headers }));
    const origin = { producerId: -1, epoch: -1, sequence: -1 };
    for (let n = 0; n < 10; n++)
      scene.logOf(0).appendBatch(encodeBatch(records, origin, uncompressed, Date.now()));
    // More than the keys and values of all have, and less than the headers of eleven.
    const member = await scene.joined({ windowBytes: 10_000 });
    await until(() => {
      assert.ok(member.received.length >= 10);
    });
    await nextTurn();
    assert.ok(member.received.length < 500, `${member.received.length} records`);
    member.finishes = true;
    member.finishAll();
    await until(() => {
      assert.equal(member.received.length, 1_000);
    });
  });

  test('knows how much waits, and how old the oldest in flight is', async (t) => {
    const scene = new LoopScene(t, 2);
    const startMs = Date.now();
    scene.logOf(0).append('a', 'b', 'c');
    const member = await scene.joined();
    await until(() => {
      assert.equal(valuesOf(member, 0), 'a b c');
    });
    const [first, second] = member.loop.lag();
    assert.deepEqual([first?.records, second?.records, second?.oldestMs], [3, 0, undefined]);
    assert.ok((first?.oldestMs ?? 0) >= startMs);
    assert.equal(member.loop.inFlightRecords, 3);
    member.finishAll();
    assert.deepEqual(
      member.loop.lag().map(({ records }) => records),
      [0, 0],
    );
  });

  test('is as far behind with a topic as the oldest record in flight of any partition', async (t) => {
    const scene = new LoopScene(t, 3);
    const member = await scene.joined();
    for (const [partition, value] of [
      [1, 'older'],
      [0, 'newer'],
    ] as const) {
      scene.logOf(partition).append(value);
      await until(() => {
        assert.equal(valuesOf(member, partition), value);
      });
    }
    const appendedMs = member.loop.lag()[1]?.oldestMs ?? assert.fail();
    const age = (): number | undefined => oldestByTopic([member.loop], appendedMs + 500).get(topic);
    assert.equal(age(), 500);
    member.finishAll();
    assert.equal(age(), 0);
  });

  test('brings nothing of a partition whose window is full, and learns all the same how much waits there', async (t) => {
    const scene = new LoopScene(t, 2);
    const member = await scene.joined({ windowRecords: 1 });
    for (const log of scene.logs) log.append('a');
    await until(() => {
      assert.equal(member.received.length, 2);
    });
    // Whatever makes it ask about the topic: another partition's leader has moved.
    scene.logOf(1).lead(1);
    scene.logOf(0).append('b', 'c');
    await until(() => {
      assert.equal(member.loop.lag()[0]?.records, 3);
    });
    assert.equal(valuesOf(member, 0), 'a');
    member.finishes = true;
    member.finishAll();
    await until(() => {
      assert.equal(valuesOf(member, 0), 'a b c');
    });
  });

  test('rests while a window is full, and fetches nothing twice because of it', async (t) => {
    const scene = new LoopScene(t, 4);
    for (const log of scene.logs)
      for (let batch = 0; batch < 10; batch += 1) log.append(...numbers(20, batch * 20));
    const member = await scene.joined({ windowRecords: 10 });
    let most = 0;
    await until(() => {
      most = Math.max(most, member.loop.inFlightRecords);
      for (const record of member.received.slice(0, -5)) record.finish();
      assert.equal(member.received.length, 800);
    });
    for (const [partition] of scene.logs.entries())
      assert.equal(valuesOf(member, partition), numbers(200).join(' '));
    const written = scene.logs.reduce((sum, { bytes }) => sum + bytes, 0);
    assert.equal(scene.brokers.fetchedBytes, written);
    assert.ok(most <= 4 * 10, `${most} in flight`);
  });

  test('asks each broker twice a second while there is nothing to read, and has what comes at once', async (t) => {
    const scene = new LoopScene(t, 6);
    const member = await scene.joined();
    await delay(500);
    const before = scene.brokers.count('Fetch');
    const fromMs = performance.now();
    await delay(2_000);
    const most = 3 * (Math.ceil((performance.now() - fromMs) / 500) + 1);
    const asked = scene.brokers.count('Fetch') - before;
    assert.ok(asked > 0 && asked <= most, `${asked} fetches, at most ${most} expected`);
    const waitedMs: number[] = [];
    for (const value of ['a', 'b', 'c', 'd']) {
      const appendedMs = performance.now();
      scene.logOf(4).append(value);
      await until(() => {
        assert.ok(valuesOf(member, 4).endsWith(value));
      });
      waitedMs.push(performance.now() - appendedMs);
    }
    assert.ok(Math.min(...waitedMs) < 200, waitedMs.join());
  });

  test('has windows of their own for some topics', async (t) => {
    const scene = new LoopScene(t, 1);
    const [small] = scene.brokers.makeTopic('small', 1);
    for (const log of [scene.logOf(0), small]) for (const value of numbers(40)) log?.append(value);
    const member = await scene.joined({
      topics: [topic, 'small'],
      windowOf: (name) => (name === 'small' ? { records: 1, bytes: 1_000 } : undefined),
    });
    const of = (name: string): number =>
      member.received.filter((record) => record.topic === name).length;
    await until(() => {
      assert.equal(of(topic), 40);
    });
    await until(() => {
      assert.ok(of('small') > 0);
    });
    const before = of('small');
    for (const record of member.received.filter((each) => each.topic === 'small')) record.finish();
    await until(() => {
      assert.ok(of('small') > before || before === 40);
    });
  });

  test('commits at most five times a second, however much is finished', async (t) => {
    const scene = new LoopScene(t, 3);
    const member = await scene.joined();
    member.finishes = true;
    const startMs = performance.now();
    const before = scene.brokers.count('OffsetCommit');
    let value = 0;
    await until(() => {
      for (const log of scene.logs) log.append(value++);
      assert.ok(performance.now() - startMs > 2_000);
      assert.ok(scene.brokers.count('OffsetCommit') > before);
    });
    const seconds = (performance.now() - startMs) / 1_000;
    const commits = scene.brokers.count('OffsetCommit') - before;
    assert.ok(commits <= 5 * seconds + 1, `${commits} in ${seconds} s`);
  });

  test('commits what is finished within a fifth of a second, or soon after', async (t) => {
    const scene = new LoopScene(t, 1);
    const member = await scene.joined();
    const tookMs: number[] = [];
    for (const [index, value] of ['a', 'b', 'c'].entries()) {
      scene.logOf(0).append(value);
      await until(() => {
        assert.equal(member.received.length, index + 1);
      });
      await until(() => {
        assert.deepEqual(scene.committed(), [index]);
      });
      const startMs = performance.now();
      member.finishAll();
      await until(() => {
        assert.deepEqual(scene.committed(), [index + 1]);
      });
      tookMs.push(performance.now() - startMs);
    }
    assert.ok(Math.min(...tookMs) < 1_000, tookMs.join());
  });

  test('that stops commits what is finished above the oldest unfinished record, and nobody repeats it', async (t) => {
    const scene = new LoopScene(t, 2);
    for (const log of scene.logs) log.append('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
    const first = await scene.joined();
    await until(() => {
      assert.equal(first.received.length, 16);
    });
    finish(first, 0, 'b', 'c', 'e');
    finish(first, 1, 'a', 'h');
    await first.loop.stop(0);
    assert.deepEqual(scene.committed(), [0, 1]);
    const { metadata = '' } = scene.group.commits.get(`${topic}/0`) ?? {};
    assert.deepEqual(decodeCommitMetadata(0, metadata).ahead?.unfinished, new Set([0, 3, 5, 6, 7]));
    const second = await scene.joined();
    await until(() => {
      assert.equal(valuesOf(second, 0), 'a d f g h');
      assert.equal(valuesOf(second, 1), 'b c d e f g');
    });
  });

  test('that stops waits for what is in flight, commits it and leaves', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.logOf(0).append('a', 'b', 'c');
    const member = await scene.joined();
    await until(() => {
      assert.equal(member.received.length, 3);
    });
    const stopped = member.loop.stop(20_000);
    scene.logOf(0).append('d');
    await delay(50);
    member.finishAll();
    await stopped;
    assert.deepEqual([scene.committed(), member.received.length], [[3], 3]);
    assert.deepEqual(scene.group.memberIds, []);
    assert.equal(member.loop.joined, false);
  });

  test('that stops gives up waiting after the time allowed', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.logOf(0).append('a', 'b');
    const member = await scene.joined();
    await until(() => {
      assert.equal(member.received.length, 2);
    });
    finish(member, 0, 'a');
    const startMs = performance.now();
    await member.loop.stop(10);
    assert.ok(performance.now() - startMs < 3_000);
    assert.deepEqual([scene.committed(), scene.group.memberIds], [[1], []]);
  });

  test('whose commit fails commits again before it stops', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.logOf(0).append('a');
    const member = scene.member();
    member.finishes = true;
    let lost = 0;
    scene.brokers.before = ({ api }) => {
      if (api !== 'OffsetCommit' || lost === 2) return;
      lost += 1;
      throw new Error('the connection broke');
    };
    await until(() => {
      assert.equal(valuesOf(member, 0), 'a');
    });
    await member.loop.stop(0);
    assert.deepEqual(scene.committed(), [1]);
  });

  test('commits the others of which one is refused, and says that it was', async (t) => {
    const scene = new LoopScene(t, 3);
    for (const log of scene.logs) log.append('a');
    scene.logOf(1).commitError = 'UNKNOWN_SERVER_ERROR';
    const member = scene.member();
    member.finishes = true;
    await until(() => {
      assert.deepEqual(scene.committed(), [1, -1, 1]);
      assert.ok(scene.observed.includes('commit failed: a commit: UNKNOWN_SERVER_ERROR'));
    });
    const before = scene.brokers.count('OffsetCommit');
    scene.logOf(1).commitError = undefined;
    await until(() => {
      assert.deepEqual(scene.committed(), [1, 1, 1]);
    });
    const again = scene.brokers.asked
      .filter(({ api }) => api === 'OffsetCommit')
      .slice(before)
      .flatMap(({ request }) => (request as { topics: { partitions: object[] }[] }).topics)
      .flatMap(({ partitions }) => partitions);
    assert.deepEqual(
      new Set(again.map((each) => (each as { partition: number }).partition)),
      new Set([1]),
    );
  });

  test('commits bare offsets where brokers take no more', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.brokers.mostMetadataBytes = 5;
    scene.logOf(0).append('a', 'b', 'c');
    const member = await scene.joined();
    await until(() => {
      assert.equal(member.received.length, 3);
    });
    finish(member, 0, 'a', 'c');
    await until(() => {
      assert.deepEqual(scene.committed(), [1]);
    });
    finish(member, 0, 'b');
    await until(() => {
      assert.deepEqual(scene.committed(), [3]);
    });
    assert.ok(scene.observed.includes('commit failed: a commit: OFFSET_METADATA_TOO_LARGE'));
  });

  test('tells how many partitions there are as soon as it has joined, and when there are more, once each', async (t) => {
    const scene = new LoopScene(t, 2);
    const counts: number[] = [];
    const member = await scene.joined({
      onPartitionCount: (name, count) => {
        assert.equal(name, topic);
        counts.push(count);
      },
    });
    assert.deepEqual(counts, [2]);
    scene.brokers.addPartitions(topic, 4);
    await until(() => {
      assert.deepEqual([counts, member.owns().length], [[2, 4], 4]);
    });
    const other = await scene.joined();
    await until(() => {
      assert.deepEqual([member.owns().length, other.owns().length], [2, 2]);
    });
    assert.deepEqual(counts, [2, 4]);
  });

  test('reads one topic although Kafka refuses to say what is committed of another', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.brokers.makeTopic('refused', 1);
    const coordinate = scene.brokers.coordinate.bind(scene.brokers);
    let mayRead = false;
    scene.brokers.coordinate = async (nodeId, api, request) => {
      const answer = (await coordinate(nodeId, api, request)) as Partial<OffsetFetchAnswer>;
      const refused = answer.responses?.find((each) => each.topic === 'refused');
      if (!mayRead) for (const each of refused?.partitions ?? []) each.errorCode = 29;
      return answer;
    };
    scene.logOf(0).append('a');
    const member = scene.member({ topics: [topic, 'refused'] });
    await until(() => {
      assert.equal(valuesOf(member, 0), 'a');
    });
    scene.brokers.log('refused', 0).append('b');
    mayRead = true;
    await until(() => {
      assert.equal(member.received.length, 2);
    });
  });

  test('takes an error in a callback of the stage for a crash, and not for a reason to read again', async (t) => {
    const scene = new LoopScene(t, 1);
    const member = scene.member({
      onAssigned: () => {
        throw new Error('a defect');
      },
    });
    await until(() => {
      assert.deepEqual(scene.observed, ['crash: a defect']);
    });
    assert.equal(member.loop.joined, false);
  });

  test('says in a line that Kafka is away, and begins when it is there', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.logOf(0).append('a');
    for (const nodeId of [1, 2, 3]) scene.brokers.nodes.set(nodeId, 'down');
    const member = scene.member();
    await until(() => {
      assert.match(scene.log.visible.join('\n'), /^warn: .*group.*ECONNREFUSED/m);
    });
    assert.equal(member.loop.joined, false);
    for (const nodeId of [1, 2, 3]) scene.brokers.nodes.set(nodeId, 'up');
    await until(() => {
      assert.equal(valuesOf(member, 0), 'a');
    });
    assert.ok(scene.log.visible.length <= 2, scene.log.visible.join('\n'));
  });

  test('that is stopped while Kafka is away asks nobody any more', async (t) => {
    const scene = new LoopScene(t, 1);
    for (const nodeId of [1, 2, 3]) scene.brokers.nodes.set(nodeId, 'down');
    const member = scene.member();
    await until(() => {
      assert.ok(scene.brokers.asked.length > 0);
    });
    await member.loop.stop(20_000);
    const before = scene.brokers.asked.length;
    await delay(700);
    assert.equal(scene.brokers.asked.length, before);
  });

  test('that is stopped while it does not know yet where to read on ends at once', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.logOf(0).listError = 'OFFSET_NOT_AVAILABLE';
    const member = scene.member();
    await until(() => {
      assert.ok(scene.brokers.count('ListOffsets') > 0);
    });
    const startMs = performance.now();
    await member.loop.stop(20_000);
    assert.ok(performance.now() - startMs < 2_000);
    assert.deepEqual([scene.group.memberIds, scene.committed()], [[], [-1]]);
  });

  test('is lost for good without a right to its group, and says so', async (t) => {
    const scene = new LoopScene(t, 1);
    scene.group.joinError = 'GROUP_AUTHORIZATION_FAILED';
    scene.member();
    await until(() => {
      assert.ok(scene.observed.includes('crash: group group: GROUP_AUTHORIZATION_FAILED'));
    });
  });
});

test('by default a final crash ends the process with code 1 and one line, not a stack', () => {
  const here = import.meta.dirname;
  const script = `
    import { startConsumeLoop } from '${here}/../../../src/kafka/consume/consume-loop.ts';
    import { systemClock } from '${here}/../../../src/ops/clock.ts';
    import { createLogger } from '${here}/../../../src/ops/log.ts';
    import { FakeBrokers } from '${here}/../fake-brokers.ts';
    const brokers = new FakeBrokers();
    brokers.makeTopic('topic', 1)[0].append('a');
    setInterval(() => undefined, 1_000);
    startConsumeLoop(brokers, {
      groupId: 'group', topics: ['topic'], windowRecords: 1, windowBytes: 1, clock: systemClock,
      log: createLogger({ level: 'info', format: 'json' }),
      onRecords: () => { throw new TypeError('a defect'); },
    });
  `;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  assert.equal(child.status, 1, child.stderr);
  assert.match(child.stderr, /"reason":"a defect"/);
  assert.doesNotMatch(child.stderr, /\n\s+at /);
});
