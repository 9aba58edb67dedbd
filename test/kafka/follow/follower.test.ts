import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  startFollower,
  type Follower,
  type FollowerOptions,
} from '../../../src/kafka/follow/follower.ts';
import { PostriderError } from '../../../src/errors.ts';
import { eventually } from '../../harness/eventually.ts';
import { collect } from '../../harness/old-garbage.ts';
import { FakeBrokers, type Asked } from '../fake-brokers.ts';
import { passTime } from '../fetch/passing-time.ts';
import type { FakeLog } from '../fake-log.ts';
import { FakeLogger } from '../fake-logger.ts';

const topic = 'config';

interface Followed {
  readonly brokers: FakeBrokers;
  readonly log: FakeLogger;
  readonly crashes: string[];
  /** What was handed over since the last restart, in the order of partitions. */
  values(): string;
  restarts(): number;
  /** Whether it was fresh in the moment of each restart. */
  readonly freshAtRestart: (boolean | undefined)[];
  logOf(partition: number): FakeLog;
}

function followed(partitions: number = 2): Followed & {
  follow(t: TestContext, options?: Partial<FollowerOptions>): Follower;
} {
  const brokers = new FakeBrokers(3);
  if (partitions > 0) brokers.makeTopic(topic, partitions);
  const log = new FakeLogger();
  const crashes: string[] = [];
  const values: string[][] = [];
  let restarts = 0;
  let last: Follower | undefined;
  const freshAtRestart: (boolean | undefined)[] = [];
  return {
    brokers,
    log,
    crashes,
    freshAtRestart,
    values: () => values.map((each) => each.join(' ')).join(' | '),
    restarts: () => restarts,
    logOf: (partition) => brokers.log(topic, partition),
    follow: (t, options = {}) => {
      const follower = startFollower(brokers, {
        topic,
        log,
        maxWaitMs: 20,
        onRecord: ({ partition, value }) => {
          while (values.length <= partition) values.push([]);
          values[partition]?.push(String(value));
        },
        onRestart: () => {
          restarts += 1;
          freshAtRestart.push(last?.isFresh());
          values.length = 0;
        },
        onCrash: ({ message }) => crashes.push(message),
        ...options,
      });
      last = follower;
      follower.loaded.catch(() => undefined);
      t.after(() => follower.stop());
      return follower;
    },
  };
}

async function until(check: () => void): Promise<void> {
  await eventually(check, 10_000);
}

/** Whether it has resolved by now. */
async function isMet(promise: Promise<void>): Promise<boolean> {
  const met = promise.then(
    () => true,
    () => false,
  );
  return Promise.race([met, new Promise<boolean>((no) => setImmediate(no, false))]);
}

describe('a follower', { concurrency: true }, () => {
  test('hands over the whole topic, then knows that it has', async (t) => {
    const scene = followed(3);
    for (const partition of [0, 1, 2]) {
      scene.logOf(partition).append('a', 'b');
      scene.logOf(partition).append(`c${partition}`);
    }
    const follower = scene.follow(t);
    assert.equal(follower.isFresh(), false);
    await follower.loaded;
    assert.equal(scene.values(), 'a b c0 | a b c1 | a b c2');
    assert.deepEqual([follower.isFresh(), follower.position(2)], [true, 3]);
  });

  test('reads from the earliest offset that there is, and past markers to the end', async (t) => {
    const scene = followed(1);
    const log = scene.logOf(0);
    for (const value of 'abc') log.append(value);
    log.appendMarker();
    log.removeBefore(1);
    const follower = scene.follow(t);
    await follower.loaded;
    assert.deepEqual([scene.values(), follower.position(), scene.restarts()], ['b c', 4, 0]);
  });

  test('knows an empty topic, and one of which nothing is left but offsets', async (t) => {
    const scene = followed(2);
    scene.logOf(1).append('a');
    scene.logOf(1).removeBefore(1);
    const follower = scene.follow(t);
    await follower.loaded;
    assert.deepEqual([scene.values(), follower.isFresh()], ['', true]);
  });

  test('keeps nothing of those that have waited until it had caught up', async (t) => {
    const follower = followed().follow(t);
    const wait = async (): Promise<WeakRef<Promise<void>>> => {
      const caughtUp = follower.caughtUp();
      await caughtUp;
      return new WeakRef(caughtUp);
    };
    const waited = [await wait(), await wait(), await wait()];
    await nextTurn();
    collect();
    assert.deepEqual(
      waited.map((each) => each.deref()),
      [undefined, undefined, undefined],
    );
  });

  test('has what was written before when it has caught up', async (t) => {
    const scene = followed(2);
    const follower = scene.follow(t);
    await follower.loaded;
    for (const value of ['a', 'b', 'c']) {
      scene.logOf(0).append(value);
      await follower.caughtUp();
      assert.ok(scene.values().startsWith(`a${value === 'a' ? '' : ' b'}`));
      assert.ok(scene.values().includes(value));
    }
  });

  test('hears of what is written from the leader, also where a replica is nearer', async (t) => {
    const brokers = new FakeBrokers(3);
    brokers.rack = 'near';
    const [log = assert.fail()] = brokers.makeTopic('followed', 1);
    log.replica = 3;
    const follower = startFollower(brokers, {
      topic: 'followed',
      log: new FakeLogger(),
      onRecord: () => undefined,
    });
    t.after(() => follower.stop());
    log.append('a');
    await follower.caughtUp();
    await follower.caughtUp();
    const asked = brokers.asked.filter(({ api }) => api === 'Fetch').map(({ nodeId }) => nodeId);
    assert.ok(asked.length > 1);
    assert.deepEqual(new Set(asked), new Set([log.leader]));
  });

  test('stays fresh while it runs, and goes stale while a broker hangs', async (t) => {
    const scene = followed(2);
    const follower = scene.follow(t);
    await follower.loaded;
    const startMs = performance.now();
    await until(() => {
      assert.equal(follower.isFresh(), true);
      assert.ok(performance.now() - startMs > 2_500);
    });
    scene.brokers.nodes.set(2, 'hangs');
    await until(() => {
      assert.equal(follower.isFresh(), false);
    });
    const caughtUp = follower.caughtUp();
    scene.logOf(1).append('a');
    assert.equal(await isMet(caughtUp), false);
    scene.brokers.nodes.set(2, 'up');
    await caughtUp;
    assert.equal(scene.values(), ' | a');
    await until(() => {
      assert.equal(follower.isFresh(), true);
    });
  });

  test('that is paused before it has found its partitions reads none of them', async (t) => {
    const scene = followed(2);
    for (const partition of [0, 1]) scene.logOf(partition).append('a');
    const follower = scene.follow(t);
    follower.pause();
    await until(() => {
      assert.notEqual(follower.topicId, undefined);
    });
    // A fetch would have been answered by then.
    const pausedMs = performance.now();
    await until(() => {
      assert.ok(performance.now() - pausedMs > 300);
    });
    assert.equal(scene.values(), '');
    follower.resume();
    await follower.loaded;
    assert.equal(scene.values(), 'a | a');
  });

  test('that is paused by the first record after it was resumed rests in all partitions', async (t) => {
    const scene = followed(6);
    const partitions = [0, 1, 2, 3, 4, 5];
    // Several pieces of 128 records each, in several batches.
    const all = Array.from({ length: 1_000 }, (_, index) => index);
    for (const partition of partitions)
      for (let from = 0; from < all.length; from += 200)
        scene.logOf(partition).append(...all.slice(from, from + 200));
    let handedOver = 0;
    const follower: Follower = scene.follow(t, {
      onRecord: () => {
        handedOver += 1;
        follower.pause();
      },
    });
    const settled = async (): Promise<number> => {
      for (let before = -1; before !== handedOver;) {
        before = handedOver;
        for (let turn = 0; turn < 50; turn += 1) await nextTurn();
      }
      return handedOver;
    };
    await until(() => {
      assert.ok(handedOver > 0);
    });
    for (let round = 0; round < 5; round += 1) {
      const before = await settled();
      follower.resume();
      const after = await settled();
      assert.ok(after > before && after - before <= 128, `${after - before} after one resume`);
    }
  });

  test('is not fresh while nobody leads one of its partitions', async (t) => {
    const scene = followed(2);
    const follower = scene.follow(t);
    await follower.loaded;
    scene.logOf(1).lead(-1);
    await until(() => {
      assert.equal(follower.isFresh(), false);
    });
    scene.logOf(0).append('a');
    await until(() => {
      assert.equal(scene.values(), 'a');
    });
    scene.logOf(1).lead(1);
    await until(() => {
      assert.equal(follower.isFresh(), true);
    });
  });

  test('is not at an end because of an open transaction that it cannot see behind, or is told so', async (t) => {
    const scene = followed(1);
    scene.logOf(0).append('a');
    scene.logOf(0).append('b');
    scene.logOf(0).openFrom = 1;
    const follower = scene.follow(t);
    // What is committed behind it is nobody's to know yet.
    await follower.loaded;
    assert.equal(scene.values(), 'a');
    scene.logOf(0).openFrom = undefined;
    scene.brokers.changed();
    await follower.caughtUp();
    assert.equal(scene.values(), 'a b');
  });

  test('reads partitions that are added, and is not fresh before it has', async (t) => {
    const scene = followed(1);
    const follower = scene.follow(t);
    await follower.loaded;
    scene.brokers.addPartitions(topic, 2);
    scene.logOf(1).append('a');
    scene.logOf(1).fetchError = 'KAFKA_STORAGE_ERROR';
    await until(() => {
      assert.equal(follower.isFresh(), false);
    });
    scene.logOf(1).fetchError = undefined;
    await until(() => {
      assert.deepEqual([scene.values(), follower.isFresh()], [' | a', true]);
    });
  });

  test('asks once where its partitions begin, however often it catches up', async (t) => {
    const scene = followed(2);
    const follower = scene.follow(t);
    await follower.loaded;
    const asked = scene.brokers.count('ListOffsets');
    for (const value of ['a', 'b', 'c']) {
      scene.logOf(0).append(value);
      await follower.caughtUp();
    }
    assert.equal(scene.brokers.count('ListOffsets'), asked);
  });

  test('tries once at a time to read partitions that are added, and says so once', async (t) => {
    const scene = followed(1);
    const follower = scene.follow(t);
    await follower.loaded;
    scene.brokers.addPartitions(topic, 2);
    scene.logOf(1).append('a');
    scene.logOf(1).listError = 'LEADER_NOT_AVAILABLE';
    const caughtUp = follower.caughtUp();
    const refreshes = scene.brokers.count('Metadata');
    await until(() => {
      assert.ok(scene.brokers.count('Metadata') > refreshes + 5);
    });
    assert.equal(scene.log.visible.length, 1);
    assert.match(scene.log.visible.join(), /^warn: Cannot read topic config; trying again/);
    scene.logOf(1).listError = undefined;
    await caughtUp;
    assert.equal(scene.values(), ' | a');
  });

  test('reads a topic that was made again from its beginning, says so once, and is not fresh meanwhile', async (t) => {
    const scene = followed(3);
    for (const partition of [0, 1, 2]) scene.logOf(partition).append('a', 'b');
    const follower = scene.follow(t);
    await follower.loaded;
    const again = scene.brokers.makeTopic(topic, 3);
    for (const log of again) log.append('c', 'd', 'e');
    await until(() => {
      assert.equal(scene.restarts(), 1);
    });
    assert.deepEqual(scene.freshAtRestart, [false]);
    await until(() => {
      assert.equal(scene.values(), 'c d e | c d e | c d e');
    });
    await until(() => {
      assert.equal(follower.isFresh(), true);
    });
    assert.equal(scene.restarts(), 1);
    assert.match(scene.log.visible.join('\n'), /^warn: reading a topic from its beginning/m);
  });

  test('is not fresh while its topic is gone', async (t) => {
    const scene = followed(1);
    scene.logOf(0).append('a');
    const follower = scene.follow(t);
    await follower.loaded;
    scene.brokers.deleteTopic(topic);
    await until(() => {
      assert.equal(follower.isFresh(), false);
    });
    assert.deepEqual([scene.restarts(), scene.values()], [0, 'a']);
    const [again] = scene.brokers.makeTopic(topic, 1);
    again?.append('b');
    await until(() => {
      assert.deepEqual([scene.restarts(), scene.values()], [1, 'b']);
    });
  });

  test('begins anew when its log was cut off: what it has handed over may be void', async (t) => {
    const scene = followed(2);
    for (const partition of [0, 1]) for (const value of 'abc') scene.logOf(partition).append(value);
    const follower = scene.follow(t);
    await follower.loaded;
    scene.logOf(0).cutOff(1);
    scene.logOf(0).append('d');
    await until(() => {
      assert.deepEqual([scene.restarts(), scene.values()], [1, 'a d | a b c']);
    });
  });

  test('goes on where retention has removed what it has not read', async (t) => {
    const scene = followed(1);
    scene.logOf(0).append('a');
    const follower = scene.follow(t);
    await follower.loaded;
    scene.brokers.nodes.set(1, 'down');
    for (const value of 'bcd') scene.logOf(0).append(value);
    scene.logOf(0).removeBefore(3);
    scene.brokers.nodes.set(1, 'up');
    await until(() => {
      assert.equal(scene.values(), 'a d');
    });
    assert.equal(scene.restarts(), 0);
  });

  test('is at offset 0 of a partition that it has not found yet', async (t) => {
    const scene = followed(1);
    const follower = scene.follow(t);
    assert.deepEqual([follower.position(), follower.position(1)], [0, 0]);
    await follower.loaded;
    assert.deepEqual([follower.position(), follower.position(1)], [0, 0]);
  });

  test('waits for a topic that does not exist yet', async (t) => {
    const scene = followed(0);
    const follower = scene.follow(t);
    await until(() => {
      assert.match(scene.log.visible.join(), /^warn: Cannot read topic config; trying again/);
    });
    const [log] = scene.brokers.makeTopic(topic, 1);
    log?.append('a');
    await follower.loaded;
    assert.equal(scene.values(), 'a');
  });

  test('says that it was stopped to whoever waits', async (t) => {
    const scene = followed(1);
    scene.brokers.nodes.set(1, 'hangs');
    const follower = scene.follow(t);
    const waiting = assert.rejects(follower.caughtUp(), { code: 'stopped' });
    await follower.stop();
    await waiting;
    await assert.rejects(follower.loaded, { code: 'stopped' });
  });

  test('that is stopped as it learns where its partitions begin no longer asks where to go on', async (t) => {
    const scene = followed(1);
    const asked: number[] = [];
    const stopped = Promise.withResolvers<undefined>();
    const cluster = scene.brokers.openCluster();
    const listOffsets = cluster.listOffsets.bind(cluster);
    cluster.listOffsets = async (nodeId, request) => {
      const answer = await listOffsets(nodeId, request);
      await follower.stop();
      stopped.resolve(undefined);
      return answer;
    };
    scene.brokers.openCluster = () => cluster;
    const follower: Follower = scene.follow(t, {
      from: (partition) => {
        asked.push(partition);
        return undefined;
      },
    });
    await stopped.promise;
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    assert.deepEqual(asked, []);
  });

  test('says that it has no right to its topic', async (t) => {
    const scene = followed(1);
    scene.brokers.topicErrors.set(topic, 'TOPIC_AUTHORIZATION_FAILED');
    const { loaded } = startFollower(scene.brokers, {
      topic,
      log: scene.log,
      onRecord: () => undefined,
    });
    await assert.rejects(loaded, { code: 'kafka-refused', message: /ACLs refuse.*topic config/ });
    const follower = scene.follow(t);
    await until(() => {
      assert.match(scene.crashes.join(), /TOPIC_AUTHORIZATION_FAILED/);
    });
    assert.equal(follower.isFresh(), false);
  });

  test('says what only a person can mend, and once it has run, tries again in spite of it', async (t) => {
    const scene = followed(1);
    const told = new PostriderError('kafka-refused', 'the broker is too old');
    const refuse = ({ api }: Asked): void => {
      if (api === 'Metadata') throw told;
    };
    scene.brokers.before = refuse;
    const options = { topic, log: scene.log, onRecord: () => undefined };
    await assert.rejects(startFollower(scene.brokers, options).loaded, told);
    scene.brokers.before = () => undefined;
    const follower = scene.follow(t);
    await follower.loaded;
    scene.brokers.before = refuse;
    scene.brokers.addPartitions(topic, 2);
    await until(() => {
      assert.equal(follower.isFresh(), false);
    });
    scene.brokers.before = () => undefined;
    scene.logOf(1).append('a');
    await until(() => {
      assert.equal(scene.values(), ' | a');
    });
    assert.deepEqual(scene.crashes, []);
  });

  test('takes an error of the listener for a crash, not for a reason to read again', async (t) => {
    const scene = followed(1);
    let calls = 0;
    scene.logOf(0).append('a', 'b');
    const follower = scene.follow(t, {
      onRecord: () => {
        calls += 1;
        throw new Error('a defect');
      },
    });
    await until(() => {
      assert.deepEqual(scene.crashes, ['a defect']);
    });
    assert.deepEqual([calls, follower.isFresh()], [1, false]);
  });

  test('needs no group, and none is left behind', async (t) => {
    const scene = followed(1);
    const follower = scene.follow(t);
    await follower.loaded;
    assert.equal(scene.brokers.groups.size, 0);
  });

  test('asks as often as it wants while somebody waits, and no broker more often because another one is stuck', async (t) => {
    const scene = followed(4);
    scene.logOf(0).fetchError = 'KAFKA_STORAGE_ERROR';
    const follower = scene.follow(t, { maxWaitMs: 100 });
    const startMs = performance.now();
    await until(() => {
      assert.ok(performance.now() - startMs > 1_000);
    });
    assert.equal(await isMet(follower.loaded), false);
    const fetches = scene.brokers.asked.filter(({ api, nodeId }) => api === 'Fetch' && nodeId > 1);
    assert.ok(fetches.length < 60, `${fetches.length} fetches in a second`);
  });
});

test('a batch that cannot be read leaves a follower not loaded and not fresh, and when it can be read everything arrives', async (t) => {
  const pass = passTime(t);
  const scene = followed(2);
  scene.logOf(0).append('a', 'b');
  scene.logOf(0).append('c');
  scene.logOf(0).append('d');
  scene.logOf(1).append('x');
  const mend = scene.logOf(0).damage(2);
  const follower = scene.follow(t);
  await until(() => {
    assert.equal(scene.values(), 'a b | x');
    assert.match(scene.log.visible.join(), /^error: a batch of records cannot be read/m);
  });
  scene.logOf(1).append('y');
  await until(() => {
    assert.equal(scene.values(), 'a b | x y');
  });
  for (const waitedMs of [5_000, 30_000, 30_000]) {
    pass(waitedMs);
    const tries = scene.log.visible.length;
    await until(() => {
      assert.ok(waitedMs === 5_000 || scene.log.visible.length > tries);
    });
    assert.deepEqual([follower.isFresh(), await isMet(follower.loaded)], [false, false]);
  }
  mend();
  pass(30_000);
  await follower.loaded;
  assert.equal(scene.values(), 'a b c d | x y');
  await until(() => {
    assert.equal(follower.isFresh(), true);
  });
});

test('one that becomes unreadable later makes a follower stale', async (t) => {
  const scene = followed(2);
  const follower = scene.follow(t);
  await follower.loaded;
  scene.logOf(0).append('a');
  await follower.caughtUp();
  const caughtUp = (): Promise<boolean> => isMet(follower.caughtUp());
  // In one turn: whoever waits for something new sees the batch as it is then.
  scene.logOf(0).append('b');
  scene.logOf(0).damage(1);
  await until(() => {
    assert.equal(follower.isFresh(), false);
  });
  assert.deepEqual([scene.values(), await caughtUp()], ['a', false]);
});
